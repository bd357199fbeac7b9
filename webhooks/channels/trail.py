"""Audit events about webhooks that change by themselves, without anyone's request."""

from keys.audit import SERVICE, record_event
from keys.audit.changes import changes
from webhooks.models import Webhook


def record_disabled(webhook: Webhook) -> None:
    """Record that an endpoint failed for too long or is gone. Run it in the transaction that disables it."""
    _record(webhook, "webhook.disabled", old="active", reason=webhook.disabled_reason)


def record_named(webhook: Webhook) -> None:
    """Record a pending webhook that a page named. Run it in the transaction that creates it."""
    _record(webhook, "webhook.named", old=None)


def _record(webhook: Webhook, action: str, *, old: str | None, **more: str) -> None:
    found = changes({"status": old}, {"status": str(webhook.status), **more})
    record_event(
        organization=webhook.organization_id, by=SERVICE, action=action, subject=webhook.subject, changes=found
    )
