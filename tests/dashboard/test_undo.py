"""Undo: a change that takes effect immediately is taken back for 10 seconds, with everything that it took along."""

import datetime as dt
import re

import time_machine
from django.core import signing

from config.base.times import now
from dashboard.frame.changes.undo import FIELD, GRACE, OFFERED_FOR, SESSION_KEY
from forms_app.models import Form
from tests.services.client import Answer, Client
from tests.services.receivers import Receiver
from tests.services.waiting import eventually
from tests.support.browser import Browser, logged_in, member_of, place, text_of
from tests.support.deliveries import make_delivery
from tests.support.rows import row
from tests.support.tenants import Tenant, make_tenant
from webhooks.models import Delivery
from webhooks.models import Receiver as ReceiverRow


def offered(page: Answer) -> dict[str, str]:
    """Return the address and the token of the page's "Undo" button."""
    found = re.search(
        r'<form method="post" action="([^"]+)">(?:(?!</form>).)*name="undo" value="([^"]+)"', page.text, re.S
    )
    assert found
    return {"path": found[1], "token": found[2]}


def a_webhook(tenant: Tenant, url: str) -> ReceiverRow:
    tenant.form(name="Watched")
    form = Form.objects.get(organization=tenant.organization, name="Watched")
    return ReceiverRow.objects.create(
        organization=form.organization, form=form, url=url, events=["submission.created"], failure_count=3
    )


def a_waiting_delivery(tenant: Tenant, webhook: ReceiverRow, *, spam: bool = False) -> Delivery:
    """Return a delivery that failed twice and is due in an hour."""
    assert webhook.form is not None
    submission = row(tenant, webhook.form.public_id, {"name": "Ada"}, now(), spam=spam)
    submission.dispatched_at, submission.counted_as = now(), "spam" if spam else "kept"
    submission.save()
    later = now() + dt.timedelta(hours=1)
    return make_delivery(webhook, submission=submission, status="pending", attempt_count=2, next_attempt_at=later)


def test_webhook__disabled_and_undone__sends_what_waited_and_keeps_its_attempts(
    tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    webhook = a_webhook(tenant, receiver.url("/hook"))
    waiting, spam = a_waiting_delivery(tenant, webhook), a_waiting_delivery(tenant, webhook, spam=True)
    page = place(tenant, f"destinations/{webhook.public_id}")
    done = owner.follow(owner.post(f"{page}/disable", form=page))
    told = "The destination is disabled. New submissions are not sent to it. 2 waiting deliveries are canceled."
    assert told in text_of(done)
    assert told not in text_of(owner.get(page))  # once
    offer = offered(done)
    undone = owner.follow(owner.post(offer["path"], form=page, undo=offer["token"]))
    assert "Undone. The destination and its deliveries are as before." in text_of(undone)
    receiver.wait_for(1)
    eventually(lambda: Delivery.objects.filter(pk=waiting.pk, status="delivered").exists())
    assert Delivery.objects.get(pk=waiting.pk).attempt_count == 3
    assert Delivery.objects.get(pk=spam.pk).status == "canceled"


def test_webhook__undone_too_late__is_activated_and_offers_a_replay(tenant: Tenant, owner: Browser) -> None:
    webhook = a_webhook(tenant, "http://127.0.0.1:9/hook")
    waiting = a_waiting_delivery(tenant, webhook)
    page = place(tenant, f"destinations/{webhook.public_id}")
    owner.post(f"{page}/disable", form=page)
    path = f"{page}/activate"
    with time_machine.travel(now() - OFFERED_FOR - GRACE - dt.timedelta(seconds=2)):
        late = signing.dumps([path, now().isoformat()], salt=SESSION_KEY)
    seen = owner.follow(owner.post(path, form=page, **{FIELD: late}))
    assert "The destination is active. New submissions are sent to it." in text_of(seen)
    assert "1 is in the log." in text_of(seen)
    assert Delivery.objects.get(pk=waiting.pk).status == "canceled"


def test_webhook__token_of_another_one__undoes_nothing(tenant: Tenant, owner: Browser) -> None:
    other = a_webhook(make_tenant(), "http://127.0.0.1:9/hook")
    webhook = a_webhook(tenant, "http://127.0.0.1:9/hook")
    waiting = a_waiting_delivery(tenant, webhook)
    page = place(tenant, f"destinations/{webhook.public_id}")
    owner.post(f"{page}/disable", form=page)
    hour_ago = (now() - dt.timedelta(hours=1)).isoformat()
    of_other = signing.dumps([f"/dashboard/o/x/destinations/{other.public_id}/activate", hour_ago], salt=SESSION_KEY)
    for token in (of_other, "nonsense", ""):
        owner.post(f"{page}/activate", form=page, **{FIELD: token})
        assert Delivery.objects.get(pk=waiting.pk).status == "canceled"


def test_form__unpublished_and_undone__is_as_before(api: Client, tenant: Tenant, owner: Browser) -> None:
    form_id = tenant.form(name="Contact")
    before = api.get(f"/api/forms/{form_id}", tenant.key).json()["data"]
    page = place(tenant, f"forms/{form_id}")
    done = owner.follow(owner.post(f"{page}/unpublish", form=page))
    assert "refuses submissions. It has not received a submission yet." in text_of(done)
    offer = offered(done)
    member = logged_in(api, member_of(tenant.organization, "member"))
    assert "Undo" not in text_of(member.get(page))  # only who did it is asked
    assert "The form is published again." in text_of(
        owner.follow(owner.post(offer["path"], form=page, undo=offer["token"]))
    )
    after = api.get(f"/api/forms/{form_id}", tenant.key).json()["data"]
    assert {**after, "updatedAt": before["updatedAt"]} == before
