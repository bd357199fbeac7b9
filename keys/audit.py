"""Writes the audit trail."""

from keys.models import AccessKey, AuditEvent, Organization, User

Actor = User | AccessKey | None  # None: a management command, run by an operator


def record_event(*, organization: Organization, by: Actor, action: str, subject: str) -> AuditEvent:
    """Record an action of `by`, such as `key.created`; `subject` names its object, such as a key with its hint."""
    return AuditEvent.objects.create(
        organization=organization,
        user=by if isinstance(by, User) else None,
        access_key=by if isinstance(by, AccessKey) else None,
        actor=str(by or "")[:254],
        action=action,
        subject=subject[:300],
    )
