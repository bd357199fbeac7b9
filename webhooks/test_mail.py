"""A test mail to one of a form's recipients, through the same outbox and log as every other mail."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext

from config.api.errors import Conflict
from config.api.ratelimit import count_burst
from config.nudge import DELIVER, nudge
from forms_app.consent.recipients import mailable
from forms_app.models import Form
from webhooks.enqueue import enqueue, mail_target
from webhooks.events import TEST
from webhooks.models import Delivery


def send_test_mail(form: Form, recipient: str, *, request: HttpRequest) -> Delivery:
    """
    Queue an example to one of a form's recipients.

    Raises Conflict for any other address, and RateLimited after an organization's TEST_MAILS.
    """
    if recipient not in form.notification_recipients:
        raise Conflict(gettext("Save the address first: test mails go only to a form's recipients."))
    if recipient not in mailable([form]).get(form.pk, []):
        raise Conflict(gettext("This recipient has not confirmed the address, or has stopped the mails."))
    usage = count_burst(request, "test-mail", str(form.organization_id), settings.TEST_MAILS)
    if usage.is_over:
        raise usage.refusal()
    (mail,) = enqueue(TEST, form, [mail_target(recipient)], organization_id=form.organization_id)
    nudge(DELIVER)
    return mail
