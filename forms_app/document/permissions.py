"""Members that some callers may not set: recipients without `webhooks:write`, and those that the plan lacks."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, gettext_noop

from config.api.errors import PlanRequired, Unauthorized
from forms_app.document.records import FOR_WEBHOOKS_WRITE
from forms_app.models import Form
from keys.models import AccessKey, Permission
from keys.permissions import MISSING
from keys.plans import Plan

SHOWN_SERVICE = gettext_noop("On the Free plan, pages name this service. Change the plan to leave it out.")


def hidden_from(key: AccessKey) -> tuple[str, ...]:
    """Return the members that answers to this key leave out."""
    return () if Permission.WEBHOOKS_WRITE in key.permissions else FOR_WEBHOOKS_WRITE


def refuse_unpermitted(form: Form, values: Mapping[str, Any], hides: Sequence[str]) -> None:
    """
    Raise Unauthorized or PlanRequired for a change that the caller or the plan may not make. What stays passes.

    `form`: as it is stored; an unsaved one for a new form. `hides`: the members that the caller may not see.
    """
    recipients = values.get("notification_recipients", form.notification_recipients)
    changes_mails = set(recipients) != set(form.notification_recipients) or (
        values.get("reply_to", form.reply_to).lower() != form.reply_to.lower()
    )
    if changes_mails and hides:
        raise Unauthorized(headers={MISSING: Permission.WEBHOOKS_WRITE})
    if form.powered_by and not values.get("powered_by", True) and form.organization.plan == Plan.FREE:
        raise PlanRequired(gettext(SHOWN_SERVICE))
