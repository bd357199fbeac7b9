"""
Suspending an organization, and resuming it (docs/contract.md 2.20).

Both act on the next request in every process, because each request reads the organization with its key or form.
Nothing is deleted. Apps to the right register what they do on resume.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy, gettext_noop

from config.base.text import clean_text
from config.base.times import now
from keys.audit import Actor, record_event
from keys.models import Organization, Role, User
from keys.notices import notify_account

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAX_REASON = 300  # characters
SUSPENDED = gettext_lazy(
    "The operator of this service has suspended the organization {name}.\n\nReason: {reason}\n\n"
    "Its access keys are refused, its forms say that they are not available, and its deliveries and mails wait. "
    "Nothing is deleted because of this. You can still read and export everything in the dashboard."
)
RESUMED = gettext_lazy(
    "The operator of this service has resumed the organization {name}.\n\n"
    "Its access keys and forms work again, and the waiting deliveries are sent now."
)

_on_resume: list[Callable[[Organization], object]] = []


def on_resume(*actions: Callable[[Organization], object]) -> None:
    """Register actions that follow a resume, after its commit. Each must be safe to repeat."""
    _on_resume.extend(action for action in actions if action not in _on_resume)


def suspend_organization(organization: Organization, *, reason: str = "", by: Actor) -> None:
    """
    Suspend an organization, or change the reason of a suspended one.

    Its keys and forms are refused, its deliveries and mails wait. Raises ValueError for a reason that is too long.
    """
    reason = " ".join(clean_text(reason).split())
    if len(reason) > MAX_REASON:
        raise ValueError(f"The reason must have at most {MAX_REASON} characters.")
    with transaction.atomic():
        locked = Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
        if locked.is_suspended and locked.suspended_reason == reason:
            return
        organization.suspended_at = locked.suspended_at or now()
        organization.suspended_reason = reason
        organization.save(update_fields=["suspended_at", "suspended_reason"])
        record_event(organization=organization, by=by, action="organization.suspended", subject=reason)
        _mail_owners(organization, "organization.suspended", gettext_lazy("{name} is suspended"), SUSPENDED, reason)


def resume_organization(organization: Organization, *, by: Actor) -> None:
    """
    Resume a suspended organization: its waiting deliveries are sent. Does nothing to another one.

    Cancels a requested deletion; what the clean-up has deleted of it by then is lost.
    """
    initial = {"suspended_at": None, "suspended_reason": "", "deletion_requested_at": None}
    with transaction.atomic():
        suspended = Organization.objects.filter(pk=organization.pk, suspended_at__isnull=False)
        if not suspended.update(**initial):
            return
        organization.refresh_from_db(fields=list(initial))
        record_event(organization=organization, by=by, action="organization.resumed", subject="")
        _mail_owners(organization, "organization.resumed", gettext_lazy("{name} is no longer suspended"), RESUMED)
    for action in _on_resume:  # afterwards: a worker that still saw the suspension has committed by now
        action(organization)


def request_deletion(organization: Organization, *, by: Actor) -> None:
    """
    Suspend an organization and let the clean-up delete it, not before an hour has passed.

    Until then `resume_organization` cancels it. Does nothing if its deletion is requested already.
    """
    with transaction.atomic():
        wanted = Organization.objects.filter(pk=organization.pk, deletion_requested_at=None)
        if not wanted.update(deletion_requested_at=now()):
            return
        record_event(organization=organization, by=by, action="organization.deletion_requested", subject="")
        organization.refresh_from_db(fields=["suspended_at", "suspended_reason", "deletion_requested_at"])
        reason = organization.suspended_reason or gettext_noop("It is being deleted")
        suspend_organization(organization, reason=reason, by=by)


def _mail_owners(
    organization: Organization, kind: str, subject: "StrOrPromise", text: "StrOrPromise", reason: str = ""
) -> None:
    """Mail each owner by their account: mails of a suspended organization would wait until it is resumed."""
    values = {"name": organization.name, "reason": gettext_lazy(reason) if reason else gettext_lazy("none was given")}
    owning = {"memberships__organization": organization, "memberships__role": Role.OWNER}
    for owner in User.objects.filter(is_active=True, **owning).order_by("email"):
        notify_account(owner, kind, subject=format_lazy(subject, **values), text=format_lazy(text, **values))
