"""The status of receivers, the deliveries that wait for it, and its entries in the audit trail."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from config.base.nudge import DELIVER, nudge
from keys.audit import SERVICE, record_event
from keys.audit.changes import changes
from webhooks.events import TEST
from webhooks.models import IN_FLIGHT, Delivery, Receiver

ACTIVE, PENDING, DISABLED = Receiver.Status.ACTIVE, Receiver.Status.PENDING, Receiver.Status.DISABLED
NEEDS_ATTENTION = Receiver.Status.NEEDS_ATTENTION
# The status of a delivery while its receiver is not active; that to a disabled one can be replayed.
INSTEAD = {
    PENDING: Delivery.Status.HELD,
    NEEDS_ATTENTION: Delivery.Status.HELD,
    DISABLED: Delivery.Status.CANCELED,
}


def status_for(delivery: Delivery) -> Delivery.Status:
    """Return PENDING, or the status that a delivery gets while its receiver does not take it."""
    assert delivery.receiver is not None  # noqa: S101 - a constraint of the table
    status = Receiver.Status(delivery.receiver.status)
    if status == NEEDS_ATTENTION and delivery.event == TEST.name:  # it is how somebody finds out what is right
        return Delivery.Status.PENDING
    return INSTEAD.get(status, Delivery.Status.PENDING)


def disable(receiver: Receiver, reason: str) -> None:
    """Disable a receiver and cancel its unsent deliveries. Run it inside a transaction."""
    _set_status(receiver, DISABLED, reason)
    unsent = receiver.deliveries.filter(status__in=[Delivery.Status.PENDING, Delivery.Status.HELD], lease_token=None)
    unsent.update(status=Delivery.Status.CANCELED, next_attempt_at=None, finished_at=Now())


def need_attention(receiver: Receiver, reason: str) -> None:
    """Hold the deliveries of a locked receiver, but for tests."""
    before = receiver.status
    _set_status(receiver, NEEDS_ATTENTION, reason)
    waiting = receiver.deliveries.filter(status=Delivery.Status.PENDING, lease_token=None).exclude(event=TEST.name)
    waiting.update(status=Delivery.Status.HELD, next_attempt_at=None)
    record_status(receiver, "needs_attention", before)


def activate(receiver: Receiver) -> None:
    """Make a locked receiver active, and its held deliveries due, in a new round of attempts. Its pace stays."""
    receiver.failing_since, receiver.failure_count = None, 0
    receiver.probe_at, receiver.in_flight_limit = None, IN_FLIGHT
    receiver.save(update_fields=["failing_since", "failure_count", "probe_at", "in_flight_limit"])
    _set_status(receiver, ACTIVE, "")
    held = receiver.deliveries.filter(status=Delivery.Status.HELD)
    held.update(status=Delivery.Status.PENDING, next_attempt_at=Now(), attempt_count=0)
    transaction.on_commit(lambda: nudge(DELIVER))


def record(receiver: Receiver, what: str, before: Mapping[str, Any], after: Mapping[str, Any], **by: Any) -> None:
    """Record what somebody did to a receiver, in their transaction."""
    record_event(
        organization=receiver.organization_id,
        action=f"{receiver.channel}.{what}",
        subject=receiver.subject,
        changes=changes(before, after),
        **by,
    )


def record_status(receiver: Receiver, what: str, before: str | None) -> None:
    """Record a status that changed by itself, without anyone's request, in the transaction that changes it."""
    after = {"status": str(receiver.status), "reason": receiver.disabled_reason or None}
    record(receiver, what, {"status": before and str(before)}, after, by=SERVICE)


def _set_status(receiver: Receiver, status: Receiver.Status, reason: str) -> None:
    receiver.status, receiver.disabled_reason = status, reason
    receiver.save(update_fields=["status", "disabled_reason"])
