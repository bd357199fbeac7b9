"""A receiver does not take a message: the log, the next attempt, and the mail to the owners."""

import datetime as dt
import time
from typing import Any

import pytest

from config.base.times import now
from tests.services.client import Client
from tests.services.processes import free_port
from tests.services.receivers import MailReceiver, Receiver, Reply
from tests.services.waiting import eventually
from tests.support.replies import TIME
from tests.support.submitting import submit_and_get_id
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import attempts_are, is_delivered, log_of, register, wait_for_delivery


def is_next_after(delivery: dict[str, Any], least: float, most: float) -> bool:
    """
    Return whether the next attempt is due so many seconds after the last one was recorded.

    That was after the attempt ended, and before this call.
    """
    last = delivery["attempts"][-1]
    ended = dt.datetime.fromisoformat(last["at"]) + dt.timedelta(milliseconds=last["durationMs"])
    due, seconds = dt.datetime.fromisoformat(delivery["nextAttemptAt"]), dt.timedelta(seconds=1)
    rounded = dt.timedelta(milliseconds=2)  # of the duration, and of the time of SQLite
    return ended - rounded + least * seconds <= due <= now() + most * seconds


def fail_once(api: Client, tenant: Tenant, receiver: Receiver, reply: Reply) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a webhook and its one delivery after the first attempt, which got this reply."""
    receiver.replies.append(reply)
    webhook = register(api, tenant, receiver.url())
    submit_and_get_id(api, tenant, webhook["formId"])
    return webhook, wait_for_delivery(api, tenant, webhook["id"], attempts_are(1))


def test_delivery__receiver_answers_500__is_logged_and_tried_again_in_5_seconds(
    api: Client, receiver: Receiver
) -> None:
    tenant = make_tenant()
    began = time.monotonic()
    webhook, seen = fail_once(api, tenant, receiver, Reply(500, body=b"x" * 4000 + b"y" * 4000, delay=0.2))
    assert is_next_after(seen, 4, 6)
    (attempt,) = seen["attempts"]
    assert attempt == {
        "at": TIME,
        "status": 500,
        "durationMs": attempt["durationMs"],
        "error": "http_error",
        "response": "x" * 4000 + "y" * 96,
    }
    assert 200 <= attempt["durationMs"] <= 1000 * (time.monotonic() - began)
    assert (seen["status"], seen["finishedAt"]) == ("pending", None)

    _, second = receiver.wait_for(2)
    assert second.arrived >= dt.datetime.fromisoformat(seen["nextAttemptAt"]).timestamp()
    ended = wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    assert [(one["status"], one["error"]) for one in ended["attempts"]] == [(500, "http_error"), (200, None)]
    assert ended["nextAttemptAt"] is None


@pytest.mark.parametrize("status", first_on_both([301, 302, 303, 307, 308]))
def test_delivery__receiver_redirects__has_failed_and_is_not_followed(
    api: Client, receiver: Receiver, status: int
) -> None:
    reply = Reply(status, headers={"Location": receiver.url("/elsewhere")})
    _, seen = fail_once(api, make_tenant(), receiver, reply)
    assert seen["status"] == "pending"
    assert [(one["status"], one["error"]) for one in seen["attempts"]] == [(status, "redirect")]
    assert [message.path for message in receiver.requests] == ["/hook"]


@pytest.mark.parametrize("status", first_on_both([200, 201, 204, 299]))
def test_delivery__any_2xx__is_a_success(api: Client, receiver: Receiver, status: int) -> None:
    tenant = make_tenant()
    receiver.reply = Reply(status)
    webhook = register(api, tenant, receiver.url())
    submit_and_get_id(api, tenant, webhook["formId"])
    seen = wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    assert [one["status"] for one in seen["attempts"]] == [status]


def test_delivery__nobody_listens__is_logged_without_a_status(api: Client) -> None:
    tenant = make_tenant()
    webhook = register(api, tenant, f"http://127.0.0.1:{free_port()}/hook")
    submit_and_get_id(api, tenant, webhook["formId"])
    seen = wait_for_delivery(api, tenant, webhook["id"], attempts_are(1))
    assert is_next_after(seen, 4, 6)
    (attempt,) = seen["attempts"]
    assert (attempt["status"], attempt["error"], attempt["response"]) == (None, "connection_refused", "")


@pytest.mark.parametrize(("asked", "least", "most"), [("120", 120, 120), ("1", 4, 6), ("999999999", 86_400, 86_400)])
def test_delivery__retry_after__only_lengthens_the_delay_to_a_day_at_most(
    api: Client, receiver: Receiver, asked: str, least: float, most: float
) -> None:
    reply = Reply(503, headers={"Retry-After": asked})
    _, seen = fail_once(api, make_tenant(), receiver, reply)
    assert is_next_after(seen, least, most)


def test_delivery__receiver_is_gone__disables_the_webhook_and_mails_the_owner(
    api: Client, receiver: Receiver, smtp: MailReceiver
) -> None:
    tenant = make_tenant()
    webhook, _ = fail_once(api, tenant, receiver, Reply(410, body=b"moved away"))
    seen = wait_for_delivery(api, tenant, webhook["id"], lambda delivery: delivery["status"] == "failed")
    assert [(one["status"], one["response"]) for one in seen["attempts"]] == [(410, "moved away")]
    assert seen["nextAttemptAt"] is None
    shown = {name: value for name, value in webhook.items() if name != "secret"}
    disabled = {**shown, "status": "disabled", "disabledReason": "The endpoint answered 410 Gone."}
    assert api.get(f"/api/webhooks/{webhook['id']}", tenant.key).json()["data"] == disabled

    mails = smtp.wait_for(tenant.owner.email, 2)  # the other one is about the new webhook
    (mail,) = (mail for mail in mails if mail.message["Subject"] == "Webhook disabled: Contact")
    parts = {part.get_content_type(): part.get_content() for part in mail.message.walk() if not part.is_multipart()}
    assert set(parts) == {"text/plain", "text/html"}
    for text in parts.values():
        assert webhook["url"] in text
        assert "The endpoint answered 410 Gone." in text


def test_delivery__webhook_disabled_before_the_retry__is_canceled(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    webhook, _ = fail_once(api, tenant, receiver, Reply(500))
    assert api.patch(f"/api/webhooks/{webhook['id']}", tenant.key, json={"status": "disabled"}).status == 200
    (seen,) = log_of(api, tenant, webhook["id"])
    assert (seen["status"], seen["nextAttemptAt"], len(seen["attempts"])) == ("canceled", None, 1)


def test_spam__with_a_webhook__is_delivered_only_when_it_is_marked_as_not_spam(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    webhook = register(api, tenant, receiver.url())
    spam = submit_and_get_id(api, tenant, webhook["formId"], {"message": "Buy", "_gotcha": "bot"})
    submit_and_get_id(api, tenant, webhook["formId"])  # a fence: dispatch takes the oldest first
    wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    assert len(log_of(api, tenant, webhook["id"])) == len(receiver.requests) == 1

    assert api.patch(f"/api/submissions/{spam}", tenant.key, json={"spam": False}).status == 200
    message = receiver.wait_for(2)[1]
    assert message.headers["webhook-id"] == spam.replace("sub_", "msg_")
    assert b'"spam":false,"spamReasons":[]' in message.body
    eventually(lambda: [row["status"] for row in log_of(api, tenant, webhook["id"])] == ["delivered"] * 2, every=0.1)


def test_spam__marked_between_two_attempts__cancels_the_delivery_until_it_is_unmarked(
    api: Client, receiver: Receiver
) -> None:
    tenant = make_tenant()
    webhook, seen = fail_once(api, tenant, receiver, Reply(500))
    path = f"/api/submissions/{seen['submissionId']}"
    assert api.patch(path, tenant.key, json={"spam": True}).status == 200
    ended = wait_for_delivery(api, tenant, webhook["id"], lambda delivery: delivery["status"] == "canceled")
    assert (ended["attempts"], ended["nextAttemptAt"]) == (seen["attempts"], None)
    assert len(receiver.requests) == 1
    assert api.post(f"/api/deliveries/{seen['id']}/retry", tenant.key).status == 409

    assert api.patch(path, tenant.key, json={"spam": False}).status == 200
    ended = wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    assert [one["status"] for one in ended["attempts"]] == [500, 200]
    assert receiver.requests[0].body == receiver.requests[1].body


def test_spam__marked_and_unmarked_after_delivery__is_not_sent_twice(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    webhook = register(api, tenant, receiver.url())
    submission_id = submit_and_get_id(api, tenant, webhook["formId"])
    wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    for spam in (True, False):
        assert api.patch(f"/api/submissions/{submission_id}", tenant.key, json={"spam": spam}).status == 200
    submit_and_get_id(api, tenant, webhook["formId"])
    receiver.wait_for(2)
    eventually(lambda: [row["status"] for row in log_of(api, tenant, webhook["id"])] == ["delivered"] * 2, every=0.1)
    assert len(receiver.requests) == 2


def test_circuit__ten_failures_in_a_row__leaves_the_other_deliveries_their_attempts(
    api: Client, receiver: Receiver
) -> None:
    tenant = make_tenant()
    receiver.reply = Reply(500)
    webhook = register(api, tenant, receiver.url())
    for number in range(20):
        submit_and_get_id(api, tenant, webhook["formId"], {"number": number})

    def waiting() -> list[dict[str, Any]]:
        log = log_of(api, tenant, webhook["id"])
        made = sum(len(row["attempts"]) for row in log)
        return log if len(log) == 20 and made >= 10 and made == len(receiver.requests) else []

    log = eventually(waiting, every=0.1)
    assert {row["status"] for row in log} == {"pending"}
    untried = [row for row in log if not row["attempts"]]
    assert len(untried) >= 20 - 10 - 3, "three more may have been in flight at the tenth failure"
    for row in untried:
        ahead = dt.datetime.fromisoformat(row["nextAttemptAt"]) - dt.datetime.now(dt.UTC)
        assert dt.timedelta(seconds=20) < ahead <= dt.timedelta(seconds=31)
