"""
Log lines about deliveries that have ended as failed, with the id of the request that caused each.

A line names the receiver by its host only, a mail by its domain: the rest of a URL or an address may be a token or a
person.
"""

import logging
import uuid
from collections.abc import Mapping

from django.db import Error

from config.base.ids import Prefix, encode_id
from submissions.models import Submission
from webhooks.models import Delivery

logger = logging.getLogger(__name__)


def log_failed(errors: Mapping[uuid.UUID, str]) -> None:
    """
    Write a line for each of these deliveries, given with the ErrorClass of its last attempt. Call it after the commit.

    It reads the ids of the requests. If that fails the lines have less, and nothing is raised.
    """
    if not errors:
        return
    try:
        rows = Delivery.objects.filter(pk__in=errors).select_related("submission").order_by("pk")
        deliveries = list(rows.only("event", "channel", "target", "host", "attempt_count", "submission__controls"))
    except Error:
        for pk, error in errors.items():
            logger.warning("delivery failed", extra={"delivery": encode_id(Prefix.DELIVERY, pk), "error": error})
        return
    for delivery in deliveries:
        logger.warning("delivery failed", extra=_line(delivery, errors[delivery.pk]))


def _line(delivery: Delivery, error: str) -> dict[str, object]:
    line: dict[str, object] = {
        "delivery": delivery.public_id,
        "delivery_event": delivery.event,
        "channel": delivery.channel,
        "host": delivery.host or (delivery.target.rpartition("@")[2] if "@" in delivery.target else ""),
        "attempts": delivery.attempt_count,
        "error": error,
    }
    if delivery.submission is not None:
        line["submission"] = delivery.submission.public_id
        line["request_id"] = delivery.submission.controls.get(Submission.REQUEST_ID, "")
    return line
