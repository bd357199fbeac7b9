"""Long backlogs, and the time of rows moved instead of waited for."""

import datetime as dt

from django.db.models import F
from django.db.models.functions import Now

from webhooks.enqueue import MAIL, Target, target_of
from webhooks.models import Delivery, Message, Receiver

AN_HOUR = dt.timedelta(hours=1)


def make_backlog(to: Receiver | str, count: int, *, age: dt.timedelta = AN_HOUR, **values: object) -> list[Delivery]:
    """Store so many deliveries to a webhook or mail address, due since `age`; `values` are other columns."""
    target = target_of(to) if isinstance(to, Receiver) else Target(MAIL, to)
    organization = values.pop("organization_id", None) or to.organization_id  # type: ignore[union-attr]  # a webhook
    message = Message.objects.create(event="submission.created", body="{}")
    rows = [target.delivery(message, organization) for _ in range(count)]  # type: ignore[arg-type]  # an id
    for row in rows:
        row.next_attempt_at = Now() - age
        for name, value in values.items():
            setattr(row, name, value)
    return Delivery.objects.bulk_create(rows)


def expire_leases() -> None:
    """Put every lease's end into the past, by the database's clock."""
    Delivery.objects.filter(lease_until__isnull=False).update(lease_until=Now() - dt.timedelta(seconds=1))


def let_pass(time: dt.timedelta) -> None:
    """Move everything that the outbox waits for nearer by this time."""
    Delivery.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=F("next_attempt_at") - time)
    Delivery.objects.filter(lease_until__isnull=False).update(lease_until=F("lease_until") - time)
    Receiver.objects.filter(probe_at__isnull=False).update(probe_at=F("probe_at") - time)
    Receiver.objects.filter(failing_since__isnull=False).update(failing_since=F("failing_since") - time)
