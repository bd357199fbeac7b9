"""Retry of one delivery, replay of a range. The message keeps its id and its body."""

import datetime as dt
from typing import Any

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from config.api.errors import Conflict
from config.ids import first_id_of
from config.nudge import DELIVER, nudge
from config.times import day_start
from submissions.models import Submission
from webhooks.channels.registry import channel_of
from webhooks.enqueue import host_of
from webhooks.models import Delivery, Webhook
from webhooks.registration import refuse_inactive

AGAIN: dict[str, Any] = {
    "status": Delivery.Status.PENDING,
    "attempt_count": 0,
    "next_attempt_at": Now(),
    "finished_at": None,
    "lease_token": None,
    "lease_until": None,
}


def retry_delivery(delivery: Delivery) -> Delivery:
    """Make one delivery due now, in a new round. Raises Conflict while it is being sent or must not be sent."""
    if delivery.webhook is not None:
        refuse_inactive(delivery.webhook)
    if delivery.submission is not None and delivery.submission.spam:
        raise Conflict("This submission is marked as spam. Mark it as not spam first.")
    if channel_of(delivery).gate(delivery) != Delivery.Status.PENDING:
        raise Conflict("This delivery cannot be sent now. Activate its destination first.")
    host = host_of(delivery.webhook.url) if delivery.webhook is not None else delivery.host
    if not Delivery.objects.filter(pk=delivery.pk).not_leased().update(**AGAIN, host=host):
        raise Conflict("This delivery is being sent now. Wait for its result first.")
    nudge(DELIVER)
    return Delivery.objects.select_related("message", "webhook").defer("message__body").get(pk=delivery.pk)


def replay(
    webhook: Webhook, *, since: dt.date | None, until: dt.date | None, statuses: list[str], dry_run: bool
) -> tuple[int, int]:
    """
    Resend a webhook's deliveries of submissions received from `since` to `until` (UTC days, inclusive).

    Returns how many deliveries match and how many are due now: none in a dry run. Raises Conflict unless the webhook
    is active.
    """
    refuse_inactive(webhook)
    # Not by a join: Django would move all these conditions into a subquery, and a row that was claimed while the
    # UPDATE waited for it would be reset while it is being sent.
    spam = Submission.objects.filter(pk=OuterRef("submission_id"), spam=True)
    own = webhook.deliveries.filter(~Exists(spam), submission__isnull=False, status__in=statuses)
    matching = own.not_leased()
    if since:
        matching = matching.filter(submission_id__gte=first_id_of(day_start(since)))
    if until and until < dt.date.max:
        matching = matching.filter(submission_id__lt=first_id_of(day_start(until + dt.timedelta(days=1))))
    if dry_run:
        return matching.count(), 0
    replayed = matching.update(**AGAIN, host=host_of(webhook.url))
    nudge(DELIVER)
    return replayed, replayed
