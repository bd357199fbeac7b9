"""The mail channel: who is mailed about an event, and which mail each one gets."""

import json
import logging
import uuid
from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from forms_app.models import Form
from submissions.models import Submission
from webhooks.channels import smtp
from webhooks.channels.base import Channel
from webhooks.channels.mail_rendering import render_mail, render_notice, render_test
from webhooks.channels.outcome import Outcome
from webhooks.enqueue import MAIL, Target, mail_target
from webhooks.events import SUBMISSION_CREATED, TEST, Event
from webhooks.models import Delivery

logger = logging.getLogger(__name__)


class MailChannel(Channel[smtp.Mail]):
    """Mails to a form's recipients, and notices to users (docs/contract.md 7)."""

    name = MAIL
    label = "Mails"
    uses_body = False  # for a submission; test events and notices are stored with a body in any case

    def targets_of(self, event: Event, rows: Sequence[Submission]) -> dict[uuid.UUID, list[Target]]:
        """Return the recipients of each submission's form."""
        if event.name != SUBMISSION_CREATED.name:
            return {}
        by_form = {form.pk: _recipients(form) for form in {row.form_id: row.form for row in rows}.values()}
        return {row.pk: by_form[row.form_id] for row in rows}

    def render(self, delivery: Delivery) -> smtp.Mail:
        """Return the mail for a submission, a test event, or any other event as a notice."""
        message_id = smtp.message_id_for(delivery.public_id)
        if delivery.submission is not None:
            return render_mail(delivery.submission, to=delivery.target, message_id=message_id)
        body = json.loads(delivery.message.body)
        render = render_test if delivery.event == TEST.name else render_notice
        return render(body, to=delivery.target, message_id=message_id)

    def send(self, rendered: Sequence[smtp.Mail]) -> Outcome:
        """Send the one mail."""
        (mail,) = rendered
        return smtp.send(mail)


def _recipients(form: Form) -> list[Target]:
    """Return the form's valid addresses: the database would refuse the whole batch for an invalid one."""
    valid = []
    for address in form.notification_recipients:
        try:
            validate_email(address)
            valid.append(mail_target(address))
        except ValidationError:
            logger.warning("form %s has a recipient that is not an email address", form.pk)
    return valid
