"""Fifty test submissions open no connection to a mail server, a captcha service or a live endpoint (12.4, 12.6)."""

import json
import secrets
import uuid
from collections.abc import Callable, Iterator

import pytest

from config.base.ids import Prefix, decode_id
from forms_app.models import Form
from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import MailReceiver, Receiver, Reply
from tests.services.waiting import eventually
from tests.support.rows import wait_until_dispatched
from tests.support.submitting import submit
from tests.support.tenants import make_tenant, text_field
from tests.support.webhooks import EVENTS
from webhooks.models import Delivery
from webhooks.receivers.destinations import add_destination

TESTS = 50
TOKEN = "cf-turnstile-response"
URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}
CAPTCHA = {"captcha": "turnstile", "captcha_site_key": "site", "captcha_secret": "secret", "minimum_seconds": 0}
REPLY = {"enabled": True, "subject": "Thanks", "text": "We answer soon."}
FIELDS = [text_field("mail", type="Email", required=False), text_field("note", required=False)]


@pytest.fixture(scope="module")
def captchas() -> Iterator[Receiver]:
    with Receiver() as server:
        server.reply = Reply(body=b'{"success": true}')
        yield server


@pytest.fixture
def api(shared_service: Callable[..., Application], captchas: Receiver) -> Iterator[Client]:
    """Yield a client of a service whose captcha service is a receiver; mails and webhooks are sent by the session's."""
    with Client(shared_service(TURNSTILE_VERIFY_URL=captchas.url("/captcha")).port) as client:
        yield client


def test_tests__fifty__reach_the_endpoint_of_both_modes_and_nothing_else(
    api: Client, captchas: Receiver, receiver: Receiver, smtp: MailReceiver
) -> None:
    tenant, (owner, submitter) = make_tenant(), [f"{secrets.token_hex(6)}@example.com" for _ in "12"]
    form = tenant.form(fields=FIELDS, notification_recipients=[owner], spam_protection=CAPTCHA, reply=REPLY)
    for mode in ("live", "both"):
        body = {"formId": form, "url": receiver.url(f"/{mode}"), "events": EVENTS, "mode": mode}
        assert api.post("/api/webhooks", tenant.key, json=body).status == 201
    config = {"url": receiver.url("/destination"), "method": "POST", "headers": {}, "template": {}}
    row = Form.objects.get(pk=decode_id(Prefix.FORM, form))
    add_destination(organization=tenant.organization, form=row, kind="http", name="CRM", config=config)

    for number in range(TESTS // 2):
        values = {"mail": submitter, "note": f"{number}", TOKEN: "t"}
        assert submit(api, tenant.test_publishable, form, values).status == 201
        posted = api.post(
            f"/f/{form}?test={tenant.test_publishable}",
            data=f"mail={submitter}&note=page+{number}&{TOKEN}=t",
            headers=URLENCODED,
        )
        assert posted.status in (200, 303), posted.text
    wait_until_dispatched(tenant)
    waiting = Delivery.objects.filter(organization=tenant.organization, status="pending", submission__isnull=False)
    eventually(lambda: not waiting.exists(), because="everything of the tests is delivered or recorded")

    tests = Submission.objects.filter(organization=tenant.organization, counted_as="test", spam=False)
    assert tests.count() == TESTS
    assert {one.path for one in receiver.requests} == {"/both"}
    told = [json.loads(one.body)["data"] for one in receiver.requests]
    assert sorted(one["id"] for one in told) == sorted(one.public_id for one in tests)
    assert all(one["test"] for one in told)
    eventually(lambda: of_status(tenant.organization.pk, "recorded") == 2 * TESTS)
    assert (captchas.requests, smtp.to(owner), smtp.to(submitter)) == ([], [], [])

    # The traps work: one live submission springs all of them.
    live = submit(api, tenant.publishable, form, {"mail": submitter, TOKEN: "t"})
    assert live.status == 201, live.text
    smtp.wait_for(owner)
    smtp.wait_for(submitter)
    for path in ("/live", "/destination"):
        receiver.wait_for(1, path=path)
    receiver.wait_for(TESTS + 1, path="/both")
    assert [len(found) for found in (captchas.requests, smtp.to(owner), smtp.to(submitter))] == [1, 1, 1]


def of_status(organization: uuid.UUID, status: str) -> int:
    return Delivery.objects.filter(organization=organization, status=status).count()
