"""The audit trail as an organization, a person and a file see it, and how long it is kept."""

import datetime as dt
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from config.base.ids import Prefix, encode_id
from config.base.times import day_start, format_time, now
from config.clean_up import delete_in_batches
from keys.audit.action_names import ACTIONS, ITSELF, KIND_OF, SYSTEM_USER, VISITOR, words_of
from keys.models import AuditEvent, Membership, Organization, User

PERSONAL = Q(organization_ref=None, action__startswith="account.")  # of a person, not of an organization
COLUMNS = ("createdAt", "actor", "actorKind", "action", "kind", "subject", "changes", "address")
FIXED_SUBJECTS = ("account.login_failed", "account.second_step_")  # whose subjects are marked for translation
OPERATOR = "operator"  # in filters and files: an operator's command
COMMANDS = Q(actor="") | Q(actor__startswith=SYSTEM_USER)


def events_of(organization: Organization) -> QuerySet[AuditEvent]:
    """Return an organization's events, and its members' logins and account changes since they joined."""
    then_member = Membership.objects.filter(
        organization=organization, user=OuterRef("user"), created_at__lte=OuterRef("created_at")
    )
    own = Q(organization=organization) | (PERSONAL & Exists(then_member))
    return AuditEvent.objects.filter(own).select_related("user", "access_key")


def events_of_person(user: User) -> QuerySet[AuditEvent]:
    """Return the events of a person's own account, newest first."""
    return AuditEvent.objects.filter(PERSONAL, user=user).order_by("-created_at", "-pk")


def narrow(
    events: QuerySet[AuditEvent], *, since: dt.date | None, until: dt.date | None, actor: str, kind: str
) -> QuerySet[AuditEvent]:
    """Return the events of UTC days (inclusive), of a person or key by name, of a kind; empty values do not filter."""
    if since:
        events = events.filter(created_at__gte=day_start(since))
    if until and until < dt.date.max:
        events = events.filter(created_at__lt=day_start(until + dt.timedelta(days=1)))
    if actor:
        events = events.filter(COMMANDS if actor == OPERATOR else Q(actor=actor))
    if kind:
        events = events.filter(action__in=ACTIONS[kind])
    return events


def who(event: AuditEvent) -> str:
    """Return the person or the key, by its name of now, or of then if it is deleted; "" for an operator's command."""
    if event.user:
        return event.user.email
    return "" if event.actor.startswith(SYSTEM_USER) else event.actor


def shown_actor(event: AuditEvent) -> str:
    """Return `who` for the screen: an actor that is no person in the reader's language."""
    name = who(event)
    return gettext(name) if name in (ITSELF, VISITOR) else name


def sentence(event: AuditEvent) -> tuple[str, str]:
    """
    Return the words and the subject after a person's name: "joined", not "joined ada@example.com".

    In the reader's language, as far as the subject is one of a fixed list.
    """
    name = who(event)
    subject = event.subject.removeprefix(name) if name else event.subject
    is_fixed = event.action.startswith(FIXED_SUBJECTS)
    return words_of(event.action), gettext(subject.strip()) if is_fixed else subject.strip()


def record(event: AuditEvent) -> dict[str, Any]:
    """Return an event as files have it, its members in the order of COLUMNS."""
    nameless = {"visitor": event.actor == VISITOR, "service": event.actor == ITSELF}
    kinds = {"key": event.access_key_id, **nameless, "person": event.user_id or who(event)}
    return {
        "createdAt": format_time(event.created_at),
        "actor": encode_id(Prefix.ACCESS_KEY, event.access_key_id) if event.access_key_id else who(event),
        "actorKind": next((kind for kind, is_one in kinds.items() if is_one), OPERATOR),
        "action": event.action,
        "kind": KIND_OF.get(event.action, ""),
        "subject": event.subject,
        "changes": event.changes or {},
        "address": event.address,
    }


def purge_audit_trail() -> int:
    """Delete the entries older than AUDIT_RETENTION_DAYS; return how many."""
    old = AuditEvent.objects.filter(created_at__lt=now() - dt.timedelta(days=settings.AUDIT_RETENTION_DAYS))
    return delete_in_batches(old, by="created_at", rows=5_000)
