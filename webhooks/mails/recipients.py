"""
Mails to a form's recipients: the question whether they confirm their address, and test mails, through the outbox.

The question goes to somebody who may know nothing of us, so it says little, and nothing that its sender could choose at
will: names that hold a web address are left out.
"""

import logging

from django.conf import settings
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext

from config.api.errors import ApiError, Conflict
from config.api.ratelimit import take_share
from config.base.nudge import DELIVER, nudge
from config.base.text import SHOWN_OF_A_NAME, name_for_strangers
from config.base.times import now
from forms_app.actions import change_recipients
from forms_app.consent.questions import OrganizationAskedTooMany
from forms_app.consent.recipients import GOOD_FOR, mailable, new_question, unasked
from forms_app.models import Form
from keys.notices import languages_of
from webhooks.enqueue import MAIL, Target, enqueue, enqueue_mail
from webhooks.events import RECIPIENT_ASKED, TEST
from webhooks.payloads import RenderedMail

FORMS_A_BATCH = 500

logger = logging.getLogger(__name__)


def save_recipients(form: Form, addresses: list[str], *, seen: str | None = None) -> int:
    """
    Set the recipients of a form and ask the new ones to confirm; return how many were asked.

    Raises what `change_recipients` raises. Addresses over a limit are asked later, by the hourly job.
    """
    with transaction.atomic():
        return _ask_all(change_recipients(form, addresses, seen=seen))


def ask(form: Form, address: str) -> None:
    """Mail one recipient a link to confirm the address. Raises Conflict as `new_question` does."""
    with transaction.atomic():
        token = new_question(form, address)
        with translation.override(languages_of([address]).get(address.lower(), form.language)):
            mail = _question(form, address, token)
        enqueue_mail(RECIPIENT_ASKED, mail, address, organization_id=form.organization_id, expires_at=now() + GOOD_FOR)


def _question(form: Form, address: str, token: str) -> RenderedMail:
    context = {
        "form_name": shown_form_name(form),
        "organization_name": shown_organization_name(form),
        "address": address,
        "days": GOOD_FOR.days,
        "link": f"{settings.PUBLIC_URL}/mails/confirm/{token}",
    }
    return RenderedMail(
        gettext("Confirm that you want submissions by mail"),
        render_to_string("mail/confirm_recipient.txt", context),
        render_to_string("mail/confirm_recipient.html", context),
    )


def ask_waiting_recipients() -> int:
    """Ask the recipients who were never asked: those of an earlier release, and those over a limit. Return how many."""
    forms = Form.objects.exclude(notification_recipients=[]).exclude(status=Form.Status.ARCHIVED)
    asked = 0
    for form in forms.select_related("organization").order_by("pk").iterator(chunk_size=FORMS_A_BATCH):
        asked += _ask_all(form)
    return asked


def _ask_all(form: Form) -> int:
    asked = 0
    for address in unasked(form):
        try:
            ask(form, address)
        except ApiError as refusal:  # a limit: the next hour tries again
            logger.info("a recipient of form %s is asked later: %s", form.pk, refusal.message)
            if isinstance(refusal, OrganizationAskedTooMany):
                break
            continue
        asked += 1
    return asked


def send_test_mail(form: Form, recipient: str) -> None:
    """
    Queue an example to one of a form's recipients.

    Raises Conflict for any other address, and RateLimited after an organization's TEST_MAILS.
    """
    if recipient not in form.notification_recipients:
        raise Conflict(gettext("Save the address first: test mails go only to a form's recipients."))
    if recipient not in mailable([form]).get(form.pk, []):
        raise Conflict(gettext("This recipient has not confirmed the address, or has stopped the mails."))
    take_share("test-mail", form.organization_id, settings.TEST_MAILS)
    enqueue(TEST, form, [Target(MAIL, recipient)], organization_id=form.organization_id)
    nudge(DELIVER)


def shown_form_name(form: Form) -> str:
    """Return a form's name as strangers see it."""
    return name_for_strangers(form.name, gettext("a form"))[:SHOWN_OF_A_NAME]


def shown_organization_name(form: Form) -> str:
    """Return the name of a form's organization as strangers see it."""
    return name_for_strangers(form.organization.name, gettext("an organization"))[:SHOWN_OF_A_NAME]
