"""The audit trail: one function that writes to it."""

from keys.models import AccessKey, AuditEvent, Organization, User

Actor = User | AccessKey | None  # None: a management command at the operator's terminal


def record_event(*, organization: Organization, by: Actor, action: str, subject: str) -> AuditEvent:
    """Note what `by` did, such as `key.created` on a key's name and hint."""
    return AuditEvent.objects.create(
        organization=organization,
        user=by if isinstance(by, User) else None,
        access_key=by if isinstance(by, AccessKey) else None,
        actor=str(by or "")[:254],
        action=action,
        subject=subject[:300],
    )
