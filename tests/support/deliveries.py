"""Deliveries as rows, with the message that each needs."""

from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now

from submissions.models import Submission
from tests.support.tenants import Tenant
from webhooks.enqueue import MAIL, Target, target_of
from webhooks.events import NOTICE
from webhooks.models import Delivery, Message, Receiver


def deliveries_of(tenant: Tenant) -> QuerySet[Delivery]:
    """Return an organization's deliveries without notices, such as that of a new webhook to its owner."""
    return Delivery.objects.filter(organization=tenant.organization).exclude(event=NOTICE.name)


def make_delivery(to: Receiver | str, *, submission: Submission | None = None, **values: Any) -> Delivery:
    """
    Store a delivery to a webhook or a mail address; `values` are its other columns, `body` and `event` its message's.

    Without an organization it has the submission's or the webhook's. A submission's deliveries share their message.
    """
    event, body = values.pop("event", "submission.created"), values.pop("body", "{}")
    if submission is not None:
        start = {"id": submission.pk, "body": body}
        message, _ = Message.objects.get_or_create(event=event, submission=submission, defaults=start)
    else:
        message = Message.objects.create(event=event, body=body)
    owner = values.pop("organization", None) or (submission or to).organization_id  # type: ignore[union-attr]  # a webhook
    target = target_of(to) if isinstance(to, Receiver) else Target(MAIL, to)
    delivery = target.delivery(message, getattr(owner, "pk", owner))
    values.setdefault("next_attempt_at", Now() if values.get("status", "pending") == "pending" else None)
    for name, value in values.items():
        setattr(delivery, name, value)
    delivery.save(force_insert=True)
    return delivery
