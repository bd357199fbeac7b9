"""A submission with a past, for a picture: posted to `/f/`, mailed, and taken by a webhook at the second attempt."""

from django.urls import reverse

from forms_app.models import Form
from keys.models import User
from submissions.models import Submission
from tests.services.client import Client
from tests.services.receivers import Receiver, Reply
from tests.services.waiting import eventually
from tests.support.chromium.screens import CONTACT, make_named_tenant
from tests.support.hosted_posts import SHOP, post
from webhooks.models import Delivery
from webhooks.receivers.registration import register_webhook

VALUES = {
    "name": "Grace Hopper",
    "email": "grace@example.com",
    "topic": "Order",
    "message": "We would like to order forty of the small ones, blue if you have them.",
}
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
BUSY = Reply(503, {"Content-Type": "text/plain"}, b"Restarting, back in a second")
TAKEN = Reply(200, {"Content-Type": "application/json"}, b'{"order": 1815}')


def make_story(base_url: str) -> tuple[User, str]:
    """Return its owner and its path when mail and webhook are delivered, some ten seconds after the post."""
    tenant = make_named_tenant("Difference Engines")
    form_id = tenant.form(name="Orders", fields=CONTACT, notification_recipients=[tenant.owner.email])
    form = Form.objects.get(organization=tenant.organization, name="Orders")
    with Receiver() as shop, Client(int(base_url.rpartition(":")[2])) as page:
        shop.replies.append(BUSY)
        shop.reply = TAKEN
        register_webhook(
            organization=tenant.organization, form=form, url=shop.url("/orders"), events=["submission.created"]
        )
        answer = post(page, form_id, VALUES, **SHOP, User_Agent=FIREFOX)
        assert answer.status == 303, answer.text
        eventually(lambda: _is_delivered(form), because="both deliveries")
    submission = Submission.objects.get(form=form)
    return tenant.owner, reverse("dashboard:submission", args=[tenant.organization.slug, submission.public_id])


def _is_delivered(form: Form) -> bool:
    states = list(Delivery.objects.filter(submission__form=form).values_list("status", flat=True))
    assert states == [Delivery.Status.DELIVERED] * 2, states
    return True
