"""
Log lines about deliveries that have ended as failed, with the id of the request that caused each.

A line names the receiver by its host only: the rest of a URL or an address may be a token or a person.
"""

import logging
import uuid
from collections.abc import Mapping

from django.db import Error

from config.ids import Prefix, encode_id
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
        rows = Delivery.objects.filter(pk__in=errors).order_by("pk")
        deliveries = list(rows.only("pk", "submission_id", "event", "channel", "target", "host", "attempt_count"))
        requests = _requests({pk for each in deliveries if (pk := each.submission_id)})
    except Error:
        for pk, error in errors.items():
            logger.warning("delivery failed", extra={"delivery": encode_id(Prefix.DELIVERY, pk), "error": error})
        return
    for delivery in deliveries:
        logger.warning("delivery failed", extra=_line(delivery, errors[delivery.pk], requests))


def _requests(submissions: set[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Return the request id of each submission, if it has one."""
    rows = Submission.objects.filter(pk__in=submissions).values_list("pk", "controls")
    return {pk: controls.get(Submission.REQUEST_ID, "") for pk, controls in rows}


def _line(delivery: Delivery, error: str, requests: Mapping[uuid.UUID, str]) -> dict[str, object]:
    line: dict[str, object] = {
        "delivery": delivery.public_id,
        "delivery_event": delivery.event,
        "channel": delivery.channel,
        "host": _host(delivery),
        "attempts": delivery.attempt_count,
        "error": error,
    }
    if delivery.submission_id is not None:
        line["submission"] = encode_id(Prefix.SUBMISSION, delivery.submission_id)
        line["request_id"] = requests.get(delivery.submission_id, "")
    return line


def _host(delivery: Delivery) -> str:
    """Return the receiving host; of a mail, the domain of its address."""
    return delivery.host or (delivery.target.rpartition("@")[2] if "@" in delivery.target else "")
