"""The mails of test submissions: never sent, and kept in the log as they would have been (docs/contract.md 12.6)."""

from collections.abc import Sequence

from config.base.times import now
from submissions.models import Submission
from webhooks.channels.registry import CHANNELS
from webhooks.enqueue import MAIL
from webhooks.models import Attempt, Delivery


def record_mails(rows: Sequence[Submission]) -> None:
    """Write the text of each recorded mail about these tests into the log. In the transaction that dispatches them."""
    if not rows:
        return
    channel = CHANNELS[MAIL]
    own = Delivery.objects.filter(submission__in=rows, channel=MAIL, status=Delivery.Status.RECORDED, attempts=None)
    deliveries = list(own.select_related("message", "submission__form", "organization").order_by("pk"))
    channel.prepare(deliveries)
    moment = now()
    Attempt.objects.bulk_create(
        Attempt(delivery=each, started_at=moment, duration_ms=0, request=channel.logged(each, channel.render(each)))
        for each in deliveries
    )
