"""
Blocking one form, and unblocking it (docs/contract.md 2.48), where suspending its organization would be too much.

It acts on the next request in every process: each reads the form with its key or address.
"""

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

from config.base.text import clean_text
from config.base.times import now
from forms_app.models import MAX_BLOCKED_REASON, Form
from keys.audit import Actor, record_event
from keys.notices import notify_owners

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

BLOCKED = gettext_lazy(
    "The operator of this service has blocked the form {name}.\n\nReason: {reason}\n\n"
    "Its page says that it is not available, and submissions to it are refused. Your other forms work as before. "
    "You can still read and export what it has received."
)
UNBLOCKED = gettext_lazy("The operator of this service has unblocked the form {name}. It takes submissions again.")


def block_form(form: Form, *, reason: str = "", by: Actor) -> None:
    """Block a form, or change the reason of a blocked one. Raises ValueError for a reason that is too long."""
    reason = " ".join(clean_text(reason).split())
    if len(reason) > MAX_BLOCKED_REASON:
        raise ValueError(f"The reason must have at most {MAX_BLOCKED_REASON} characters.")
    with transaction.atomic():
        locked = Form.objects.select_for_update(no_key=True).get(pk=form.pk)
        if locked.blocked_at and locked.blocked_reason == reason:
            return
        locked.blocked_at, locked.blocked_reason = locked.blocked_at or now(), reason
        locked.save(update_fields=["blocked_at", "blocked_reason"])
        subject = f"{form.name} ({reason})" if reason else form.name
        record_event(organization=form.organization_id, by=by, action="form.blocked", subject=subject)
        _mail_owners(form, "form.blocked", gettext_lazy("The form {name} is blocked"), BLOCKED, reason)


def unblock_form(form: Form, *, by: Actor) -> None:
    """Let a form take submissions again. Does nothing to one that is not blocked."""
    with transaction.atomic():
        blocked = Form.objects.filter(pk=form.pk, blocked_at__isnull=False)
        if blocked.update(blocked_at=None, blocked_reason=""):
            record_event(organization=form.organization_id, by=by, action="form.unblocked", subject=form.name)
            _mail_owners(form, "form.unblocked", gettext_lazy("The form {name} is no longer blocked"), UNBLOCKED)


def _mail_owners(form: Form, kind: str, subject: "StrOrPromise", text: "StrOrPromise", reason: str = "") -> None:
    values = {"name": form.name, "reason": reason or gettext_lazy("none was given")}
    notify_owners(form.organization, kind, subject=format_lazy(subject, **values), text=format_lazy(text, **values))
