"""Deliveries of test submissions: mails that are recorded, and receivers with a mode (docs/contract.md 12.6)."""

import json
import secrets
from typing import Any

import pytest

from config.base.ids import Prefix, decode_id
from submissions.models import Submission, SubmitterMail
from tests.services.client import Client
from tests.services.receivers import MailReceiver, Receiver, Reply
from tests.services.waiting import eventually
from tests.support.replies import ALL_SIX, UNAUTHORIZED
from tests.support.rows import wait_until_dispatched
from tests.support.submitting import submit, submit_and_get_id
from tests.support.tenants import Tenant, make_tenant, text_field
from tests.support.webhooks import EVENTS, log_of
from webhooks.models import Delivery
from webhooks.models import Receiver as ReceiverRow

CAPTCHA = {"captcha": "turnstile", "captcha_site_key": "site", "captcha_secret": "secret"}
REPLY = {"enabled": True, "subject": "Thanks", "text": "We answer soon."}


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def key(tenant: Tenant) -> str:
    return tenant.issue(*ALL_SIX, mode="test")


def hook(api: Client, tenant: Tenant, form: str, url: str, mode: str) -> dict[str, Any]:
    body = {"formId": form, "url": url, "events": EVENTS, "mode": mode}
    answer = api.post("/api/webhooks", tenant.key, json=body)
    assert (answer.status, answer.json()["data"]["mode"]) == (201, mode), answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def sent(api: Client, key: str, form: str, values: dict[str, str] | None = None) -> str:
    answer = submit(api, key, form, values)
    assert answer.status == 201, answer.text
    return str(answer.json()["data"]["id"])


def log(api: Client, key: str, submission: str) -> list[dict[str, Any]]:
    answer = api.get(f"/api/submissions/{submission}/deliveries", key)
    assert answer.status == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def test_webhooks__of_each_mode__receive_their_submissions(
    tenant: Tenant, key: str, api: Client, receiver: Receiver
) -> None:
    form = tenant.form()
    hooks = {mode: hook(api, tenant, form, receiver.url(f"/{mode}"), mode) for mode in ("live", "test", "both")}
    live, test = submit_and_get_id(api, tenant, form), sent(api, key, form)

    messages = receiver.wait_for(4)

    ids = {
        path: {json.loads(one.body)["data"]["id"] for one in messages if one.path == path}
        for path in ("/live", "/test", "/both")
    }
    assert ids == {"/live": {live}, "/test": {test}, "/both": {live, test}}
    marks = {json.loads(one.body)["data"]["id"]: json.loads(one.body)["data"]["test"] for one in messages}
    assert marks == {live: False, test: True}
    logs = {mode: {one["submissionId"] for one in log_of(api, tenant, made["id"])} for mode, made in hooks.items()}
    assert logs == {"live": {live}, "test": {test}, "both": {live, test}}
    totals = api.get("/api/analytics", tenant.key).json()["data"]["totals"]
    eventually(lambda: api.get("/api/analytics", tenant.key).json()["data"]["totals"]["delivered"] == 2)
    assert totals["received"] == 1


def test_mode__changed_while_deliveries_wait__cancels_those_of_the_other(
    tenant: Tenant, key: str, api: Client, receiver: Receiver
) -> None:
    form, receiver.reply = tenant.form(), Reply(status=500)
    made = hook(api, tenant, form, receiver.url(), "both")
    live, test = submit_and_get_id(api, tenant, form), sent(api, key, form)
    receiver.wait_for(2)
    eventually(lambda: all(one["attempts"] for one in log_of(api, tenant, made["id"])))

    changed = api.patch(f"/api/webhooks/{made['id']}", tenant.key, json={"mode": "live"})

    assert changed.json()["data"]["mode"] == "live"
    statuses = {one["submissionId"]: one["status"] for one in log_of(api, tenant, made["id"])}
    assert statuses == {live: "pending", test: "canceled"}
    (canceled,) = (one["id"] for one in log_of(api, tenant, made["id"]) if one["submissionId"] == test)
    assert api.post(f"/api/deliveries/{canceled}/retry", tenant.key).status == 409
    body = {"status": "undelivered"}
    replayed = api.post(f"/api/webhooks/{made['id']}/replay", tenant.key, json=body)
    assert replayed.json()["data"]["matched"] == 0, replayed.text


def test_page_named_webhook__of_a_test__is_not_made(tenant: Tenant, api: Client) -> None:
    form = tenant.form()
    sent(api, tenant.test_publishable, form, {"a": "1", "_webhook": "https://hooks.example/new"})
    wait_until_dispatched(tenant)
    assert not ReceiverRow.objects.filter(organization=tenant.organization).exists()


def test_mails__of_a_test__are_recorded_with_their_text_and_never_sent(
    tenant: Tenant, key: str, api: Client, smtp: MailReceiver
) -> None:
    owner, submitter = f"{secrets.token_hex(6)}@example.com", f"{secrets.token_hex(6)}@example.com"
    fields = [text_field("mail", type="Email", required=False), text_field("note", required=False)]
    form = tenant.form(fields=fields, notification_recipients=[owner], spam_protection=CAPTCHA, reply=REPLY)
    pk = sent(api, tenant.test_publishable, form, {"mail": submitter, "note": "needle"})

    eventually(lambda: len(log(api, key, pk)) == 2)

    found = {one["target"]: one for one in log(api, key, pk)}
    assert {target: one["status"] for target, one in found.items()} == {owner: "recorded", submitter: "recorded"}
    for target, text in ((owner, "needle"), (submitter, "We answer soon.")):
        read = api.get(f"/api/deliveries/{found[target]['id']}", key).json()["data"]
        assert (read["finishedAt"] is not None, read["nextAttemptAt"]) == (True, None)
        (attempt,) = read["attempts"]
        assert (attempt["error"], attempt["request"]["url"]) == (None, f"mailto:{target}")
        assert text in attempt["request"]["body"]
        assert api.post(f"/api/deliveries/{found[target]['id']}/retry", tenant.key).status == 409
    replay = {"channel": "mail", "from": "2020-01-01", "to": "2999-01-01", "status": "undelivered"}
    assert api.post("/api/deliveries/replay", tenant.key, json=replay).json()["data"]["matched"] == 0
    # A live one that comes later is mailed, whatever the caps would say about the address.
    live = submit_and_get_id(api, tenant, form, {"mail": submitter})
    smtp.wait_for(owner)
    assert live
    assert smtp.to(submitter) == []
    assert len(smtp.to(owner)) == 1


def test_bounce__as_the_submitters_address__fails_the_mail(tenant: Tenant, key: str, api: Client) -> None:
    form = tenant.form(fields=[text_field("mail", type="Email")], spam_protection=CAPTCHA, reply=REPLY)
    pk = sent(api, tenant.test_publishable, form, {"mail": "bounce@fieldpost.test"})
    eventually(lambda: [one["status"] for one in log(api, key, pk)] == ["failed"])
    (found,) = log(api, key, pk)
    assert [attempt["error"] for attempt in found["attempts"]] == ["mail_refused"]


def test_caps_of_mails__count_no_tests(tenant: Tenant, api: Client) -> None:
    form = tenant.form(fields=[text_field("mail", type="Email")], spam_protection=CAPTCHA, reply=REPLY)
    ids = [sent(api, tenant.test_publishable, form, {"mail": "ada@example.com"}) for _ in range(3)]
    pks = [decode_id(Prefix.SUBMISSION, pk) for pk in ids]
    recorded = Delivery.objects.filter(submission__in=pks, event="reply", status="recorded")
    eventually(lambda: recorded.count() == 3)
    assert not SubmitterMail.objects.filter(submission__in=pks, refusal="").exists()


def test_delivery_of_a_live_submission__with_a_test_key__is_403(
    tenant: Tenant, key: str, api: Client, receiver: Receiver
) -> None:
    form = tenant.form()
    made = hook(api, tenant, form, receiver.url(), "live")
    live = submit_and_get_id(api, tenant, form)
    receiver.wait_for(1)
    (delivery,) = log_of(api, tenant, made["id"])
    for path in (f"/api/deliveries/{delivery['id']}", f"/api/submissions/{live}/deliveries"):
        answer = api.get(path, key)
        assert (answer.status, answer.json()) == (403, UNAUTHORIZED)


def test_question__of_an_unconfirmed_test__has_a_link_that_confirms_it(tenant: Tenant, key: str, api: Client) -> None:
    fields = [text_field("mail", type="Email")]
    form = tenant.form(fields=fields, spam_protection=CAPTCHA, confirmation=True)
    pk = sent(api, tenant.test_publishable, form, {"mail": "ada@example.com"})
    eventually(lambda: len(log(api, key, pk)) == 1)
    body = api.get(f"/api/deliveries/{log(api, key, pk)[0]['id']}", key).json()["data"]["attempts"][0]["request"][
        "body"
    ]
    link = next(word for word in body.split() if "/f/confirm/" in word)
    path = link[link.index("/f/confirm/") :]
    assert api.post(path, data="", headers={"Content-Type": "application/x-www-form-urlencoded"}).status in (200, 303)
    row = Submission.objects.get(pk=decode_id(Prefix.SUBMISSION, pk))
    assert (row.held, row.is_test) == ("", True)


@pytest.mark.parametrize("mode", ["LIVE", "", None, True])
def test_mode__that_is_none__is_refused(mode: object, tenant: Tenant, api: Client) -> None:
    body = {"formId": tenant.form(), "url": "https://hooks.example/x", "events": EVENTS, "mode": mode}
    assert api.post("/api/webhooks", tenant.key, json=body).status == 400
