"""`GET /api/deliveries/{id}`: a delivery with the requests as they were sent (docs/contract.md 7.40)."""

from typing import Any

import pytest

from config.base.times import now
from tests.services.client import Client
from tests.services.receivers import MailReceiver, Received, Receiver, Reply
from tests.services.waiting import eventually
from tests.support.deliveries import make_delivery
from tests.support.replies import NOT_FOUND, UNAUTHORIZED
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import attempts_are, is_delivered, log_of, register, wait_for_delivery
from webhooks.models import Attempt, Delivery


def delivery_of(api: Client, tenant: Tenant, delivery_id: str) -> dict[str, Any]:
    answer = api.get(f"/api/deliveries/{delivery_id}", tenant.key)
    assert (answer.status, answer.json()["message"]) == (200, "Found."), answer.text
    found: dict[str, Any] = answer.json()["data"]
    return found


def as_received(message: Received, url: str) -> dict[str, Any]:
    """Return the request that the log should show for a message, from what its receiver saw."""
    headers = {name: value for name, value in message.headers.items() if name != "webhook-signature"}
    return {"method": message.method, "url": url, "headers": headers, "body": message.body.decode()}


def with_lower_case_headers(request: dict[str, Any]) -> dict[str, Any]:
    return {**request, "headers": {name.lower(): value for name, value in request["headers"].items()}}


def test_delivery__each_attempt__has_the_request_that_its_receiver_got(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    receiver.replies.append(Reply(500, body=b"down"))
    before, after = receiver.url("/old?token=a%20b"), receiver.url("/new")
    webhook = register(api, tenant, before, tenant.form(name="Contact ✉"))
    submit_and_get_id(api, tenant, webhook["formId"], {"name": "Ana Köhler 🎉"})
    seen = wait_for_delivery(api, tenant, webhook["id"], attempts_are(1))
    api.patch(f"/api/webhooks/{webhook['id']}", tenant.key, json={"url": after})
    assert api.post(f"/api/deliveries/{seen['id']}/retry", tenant.key).status == 200
    wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    messages = receiver.wait_for(2)

    found = delivery_of(api, tenant, seen["id"])

    sent = [attempt.pop("request") for attempt in found["attempts"]]
    assert [with_lower_case_headers(request) for request in sent] == [
        as_received(message, url) for message, url in zip(messages, (before, after), strict=True)
    ]
    assert found == log_of(api, tenant, webhook["id"])[0]
    assert (found["channel"], found["target"]) == ("webhook", webhook["id"])
    assert "signature" not in str(sent).lower()
    assert webhook["secret"] not in str(sent)


def test_delivery__nobody_answers__shows_the_request_of_the_attempt(api: Client) -> None:
    tenant = make_tenant()
    webhook = register(api, tenant, "http://127.0.0.1:9/hook")
    test = api.post(f"/api/webhooks/{webhook['id']}/test", tenant.key).json()["data"]
    wait_for_delivery(api, tenant, webhook["id"], attempts_are(1))

    (attempt,) = delivery_of(api, tenant, test["id"])["attempts"]

    assert attempt["error"] == "connection_refused"
    assert (attempt["request"]["url"], attempt["request"]["headers"]["Host"]) == (webhook["url"], "127.0.0.1:9")


def test_delivery__mail_about_a_submission__shows_the_mail_without_its_link(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    address = f"editor.{tenant.organization.slug}@example.net"
    form_id = tenant.form(name="Contact", notification_recipients=[address])
    values = {"email": "ana@example.org", "message": "Line one", "long": "ß" * 5000}
    submission_id = submit_and_get_id(api, tenant, form_id, values)
    (mail,) = smtp.wait_for(address)
    row = Delivery.objects.get(target=address)
    eventually(lambda: Delivery.objects.get(pk=row.pk).status == "delivered")

    found = delivery_of(api, tenant, row.public_id)

    record = {key: found[key] for key in ("channel", "target", "webhookId", "submissionId", "status")}
    assert record == {
        "channel": "mail", "target": address, "webhookId": None, "submissionId": submission_id, "status": "delivered"
    }  # fmt: skip
    request = found["attempts"][0]["request"]
    assert (request["method"], request["url"]) == ("MAIL", f"mailto:{address}")
    assert request["headers"] == {
        name: mail.message[name] for name in ("From", "To", "Subject", "Reply-To", "Message-ID", "Auto-Submitted")
    }
    assert request["body"].startswith("New submission to Contact\n\nemail:\nana@example.org\n\nmessage:\nLine one\n")
    assert 4000 < len(request["body"].encode()) <= 4096
    assert "/mails/" not in api.get(f"/api/deliveries/{row.public_id}", tenant.key).text


def test_delivery__short_mail__has_no_link_that_stops_the_mails(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    address = f"short.{tenant.organization.slug}@example.net"
    submit_and_get_id(api, tenant, tenant.form(name="Contact", notification_recipients=[address]), {"a": "1"})
    smtp.wait_for(address)
    row = Delivery.objects.get(target=address)
    eventually(lambda: Delivery.objects.get(pk=row.pk).status == "delivered")

    (attempt,) = delivery_of(api, tenant, row.public_id)["attempts"]

    last_line = attempt["request"]["body"].strip().splitlines()[-1]
    assert last_line == "You get each submission of Contact by mail. Stop these mails: …"


def test_delivery__attempt_before_requests_were_kept__has_none(api: Client) -> None:
    tenant = make_tenant()
    webhook = register(api, tenant, "http://127.0.0.1:9/hook")
    test = api.post(f"/api/webhooks/{webhook['id']}/test", tenant.key).json()["data"]
    wait_for_delivery(api, tenant, webhook["id"], attempts_are(1))
    Attempt.objects.filter(delivery__target=webhook["id"]).update(request="")

    (attempt,) = delivery_of(api, tenant, test["id"])["attempts"]

    assert attempt["request"] is None


@pytest.mark.on_sqlite
def test_delivery__tried_hundreds_of_times__shows_the_newest_fifty_attempts(api: Client) -> None:
    tenant = make_tenant()
    row = make_delivery("a@example.org", organization=tenant.organization, status="failed", finished_at=now())
    Attempt.objects.bulk_create(
        Attempt(delivery=row, started_at=now(), duration_ms=number, status=500, error="http_error")
        for number in range(60)
    )

    found = delivery_of(api, tenant, row.public_id)

    assert [attempt["durationMs"] for attempt in found["attempts"]] == list(range(10, 60))


@pytest.mark.on_sqlite
def test_delivery__notice_to_an_owner__is_found_without_its_text(api: Client) -> None:
    tenant = make_tenant()
    body = '{"subject":"New access key","text":"private words"}'
    row = make_delivery(
        tenant.owner.email, organization=tenant.organization, event="notice", body=body, status="failed",
        finished_at=now(),
    )  # fmt: skip
    Attempt.objects.create(delivery=row, started_at=now(), duration_ms=1, error="mail_failed")

    found = delivery_of(api, tenant, row.public_id)

    assert [attempt["request"] for attempt in found["attempts"]] == [None]
    assert "private words" not in str(found)


SECRET = ("account.code", "account.mail", "invitation", "recipient.asked")


@pytest.mark.on_sqlite
@pytest.mark.parametrize("event", SECRET)
def test_delivery__with_a_code_or_a_link__is_not_found(event: str, api: Client) -> None:
    tenant = make_tenant()
    row = make_delivery("a@example.org", organization=tenant.organization, event=event, account=tenant.owner)

    answer = api.get(f"/api/deliveries/{row.public_id}", tenant.key)

    assert (answer.status, answer.json()) == (404, NOT_FOUND)


@pytest.mark.on_sqlite
def test_delivery__of_an_account_and_no_organization__is_not_found(api: Client) -> None:
    tenant = make_tenant()
    row = make_delivery("a@example.org", organization=tenant.organization, event="notice", account=tenant.owner)
    Delivery.objects.filter(pk=row.pk).update(organization=None)

    answer = api.get(f"/api/deliveries/{row.public_id}", tenant.key)

    assert (answer.status, answer.json()) == (404, NOT_FOUND)


@pytest.mark.on_sqlite
def test_delivery__mail_of_another_organization__is_unauthorized(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    row = make_delivery("a@example.org", organization=other.organization)

    answer = api.get(f"/api/deliveries/{row.public_id}", tenant.key)

    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
