"""The audit trail: this module writes it."""

import enum
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from config.api.current_request import current_request
from config.base.client_address import client_address
from keys.audit.action_names import ITSELF, SYSTEM_USER, VISITOR
from keys.audit.changes import Changes
from keys.models import AccessKey, AuditEvent, Organization, User

Actor = User | AccessKey | None  # None: a management command, run by an operator
_operator: ContextVar[User | str] = ContextVar("operator", default="")  # of the command that runs


class _Caller(enum.Enum):
    CALLER = "the key or the user of the request"
    SERVICE = "the service itself, without anyone's request"


CALLER: Final = _Caller.CALLER
SERVICE: Final = _Caller.SERVICE


@contextmanager
def acting(operator: User | str) -> Iterator[None]:
    """Let the events of a command name its operator: a user, or the name of the system's user."""
    token = _operator.set(operator)
    try:
        yield
    finally:
        _operator.reset(token)


def record_event(
    *,
    organization: Organization | uuid.UUID | None,
    action: str,
    subject: str,
    by: Actor | _Caller = CALLER,
    changes: Changes | None = None,
) -> AuditEvent:
    """
    Record an action from `keys/audit/action_names.py`; `subject` names its object, such as a key with its hint.

    `organization`: None for a person's own account. `by`: by default the key or the user of the request, outside of one
    an operator, see `acting`; SERVICE for a change without anyone's request. `changes`: old and new values, from
    `changes()`. The client's address is that of the request.
    """
    request = current_request()
    actor = None if by is SERVICE else caller() if by is CALLER else by
    if actor is None and by is not SERVICE and request is None and isinstance(operator := _operator.get(), User):
        actor = operator
    if isinstance(organization, uuid.UUID):
        organization = Organization.objects.get(pk=organization)
    return AuditEvent.objects.create(
        organization=organization,
        organization_ref=organization.pk if organization else None,
        organization_name=organization.name if organization else "",
        organization_slug=organization.slug if organization else "",
        user=actor if isinstance(actor, User) else None,
        access_key=actor if isinstance(actor, AccessKey) else None,
        actor=str(actor or _nameless(by, is_in_request=request is not None))[:254],
        action=action,
        subject=subject[:300],
        changes=changes or None,
        address=client_address(request)[:45] if request is not None else "",
    )


def _nameless(by: Actor | _Caller, *, is_in_request: bool) -> str:
    """Return the name of an actor who is neither a user nor a key; "" is a command whose operator is not known."""
    if by is SERVICE:
        return ITSELF
    if is_in_request:
        return VISITOR if by is CALLER else ""
    name = _operator.get()
    return f"{SYSTEM_USER}{name}" if name else ""


def caller() -> Actor:
    """Return the access key or the user of the request; None outside of one, and for a stranger's."""
    request = current_request()
    if request is None:
        return None
    key: AccessKey | None = getattr(request, "access_key", None)
    user = getattr(request, "user", None)
    return key or (user if isinstance(user, User) and user.is_authenticated else None)
