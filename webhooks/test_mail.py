"""A test mail: what a form's recipients would get, through the same outbox, retries and log."""

from django.conf import settings
from django.db.models.functions import Now
from django.http import HttpRequest

from config.api.errors import Conflict
from config.api.ratelimit import count_burst
from config.nudge import DELIVER, nudge
from forms_app.models import Form
from webhooks.models import Delivery
from webhooks.payloads import message_id, test_message


def send_test_mail(form: Form, recipient: str, *, request: HttpRequest) -> Delivery:
    """
    Queue an example to one of a form's recipients.

    Raises Conflict for any other address, and RateLimited after TEST_MAILS of an organization.
    """
    if recipient not in form.notification_recipients:
        raise Conflict("Save the address first: test mails go to a form's own recipients alone.")
    usage = count_burst(request, "test-mail", str(form.organization_id), settings.TEST_MAILS)
    if usage.is_over:
        raise usage.refusal()
    mail = Delivery(
        organization_id=form.organization_id,
        recipient=recipient,
        kind=Delivery.Kind.TEST,
        body=test_message(form),
        next_attempt_at=Now(),
    )
    mail.message_id = message_id(mail.pk)
    mail.save()
    nudge(DELIVER)
    return mail
