"""Test events, secrets, the delivery log, retry and replay (docs/contract.md 7)."""

import datetime as dt
import json
from typing import Any

import pytest

from tests.services.client import Client
from tests.services.receivers import Receiver, Reply
from tests.services.waiting import eventually
from tests.support.replies import NOT_FOUND, TIME, UNAUTHORIZED, Like, an_id, failure, invalid, success, unknown_id
from tests.support.submitting import submit_and_get_id
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant, text_field
from tests.support.webhooks import (
    attempts_are,
    is_delivered,
    log_of,
    message_id_of,
    register,
    wait_for_delivery,
)

SECRET = Like(r"whsec_[A-Za-z0-9+/]{43}=")
MESSAGE_ID = Like(r"msg_[0-9a-z]{26}")
NEVER = "http://127.0.0.1:9/hook"  # the discard port: nothing listens there
ADDRESS = {"ip": None, "userAgent": None, "origin": None, "referer": None}


def delivery(webhook: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Return the whole record of a delivery of a submission that is yet to be sent."""
    record = {"id": an_id("dlv"), "channel": "webhook", "target": webhook["id"], "webhookId": webhook["id"]}
    record |= {"submissionId": an_id("sub"), "messageId": MESSAGE_ID}
    record |= {"test": False, "status": "pending", "nextAttemptAt": TIME, "createdAt": TIME, "finishedAt": None}
    return {**record, "attempts": [], **values}


def attempt(log: dict[str, Any], place: int = 0, **values: Any) -> dict[str, Any]:
    """Return the whole record of an attempt; its duration is whatever it was, if that is plausible."""
    milliseconds = log["attempts"][place]["durationMs"]
    assert 0 <= milliseconds < 15_500
    return {"at": TIME, "status": None, "durationMs": milliseconds, "error": None, "response": "", **values}


def test_log__delivered_submission__shows_the_delivery_with_its_attempt(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    receiver.reply = Reply(202, body=b"thank you")
    webhook = register(api, tenant, receiver.url())
    submission_id = submit_and_get_id(api, tenant, webhook["formId"])
    seen = wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    attempts = [attempt(seen, status=202, response="thank you")]
    ended = {"status": "delivered", "nextAttemptAt": None, "finishedAt": TIME, "attempts": attempts}
    ids = {"submissionId": submission_id, "messageId": message_id_of(submission_id)}
    answer = api.get(f"/api/webhooks/{webhook['id']}/deliveries", tenant.key)
    assert answer.json() == {
        **success([delivery(webhook, **ids, **ended)], "1 found."),
        "pagination": {"page": 1, "limit": 25, "total": 1, "pages": 1},
    }


def test_log__several_deliveries__newest_first_and_filtered_by_status(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    webhook = register(api, tenant, receiver.url())
    path = f"/api/webhooks/{webhook['id']}/deliveries"
    first = submit_and_get_id(api, tenant, webhook["formId"])
    wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    receiver.reply = Reply(503)
    second = submit_and_get_id(api, tenant, webhook["formId"])
    wait_for_delivery(api, tenant, webhook["id"], attempts_are(1))

    def listed(query: str = "") -> list[str]:
        return [row["submissionId"] for row in api.get(f"{path}{query}", tenant.key).json()["data"]]

    eventually(lambda: listed() == [second, first] and listed("?status=pending") == [second])
    assert listed("?status=delivered") == [first]
    assert listed("?status=failed") == listed("?status=held") == listed("?status=canceled") == []
    assert listed("?limit=1&page=2") == [first]
    answer = api.get(f"{path}?status=lost", tenant.key)
    assert (answer.status, answer.json()) == (400, invalid(("status", "invalid_choice", answer.json()["message"])))


def test_test_event__active_webhook__is_sent_marked_and_logged(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    fields = [text_field("name"), text_field("mail", type="Email")]
    webhook = register(api, tenant, receiver.url(), tenant.form(name="Contact", fields=fields))
    answer = api.post(f"/api/webhooks/{webhook['id']}/test", tenant.key)
    queued = delivery(webhook, submissionId=None, test=True)
    assert answer.status == 200
    assert answer.json() == success(queued, "Test event queued. The delivery log shows its result.")

    (message,) = receiver.wait_for(1)
    data = {"id": an_id("sub"), "formId": webhook["formId"], "data": {"name": "Test", "mail": "ada@example.com"}}
    data |= {"files": [], "spam": False, "spamReasons": [], "held": None, "meta": ADDRESS, "imported": False}
    data |= {"createdAt": TIME, "formName": "Contact", "test": True}
    assert json.loads(message.body) == {"type": "submission.created", "timestamp": TIME, "data": data}
    assert message.headers["webhook-id"] == answer.json()["data"]["messageId"]
    seen = wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    assert (seen["id"], seen["test"]) == (answer.json()["data"]["id"], True)
    assert api.get(f"/api/submissions?formId={webhook['formId']}", tenant.key).json()["data"] == []


def test_test_event__receiver_fails__is_tried_once_and_the_webhook_stays_active(
    api: Client, receiver: Receiver
) -> None:
    tenant = make_tenant()
    receiver.reply = Reply(500)
    webhook = register(api, tenant, receiver.url())
    api.post(f"/api/webhooks/{webhook['id']}/test", tenant.key)
    seen = wait_for_delivery(api, tenant, webhook["id"], lambda log: log["status"] == "failed")
    assert (seen["nextAttemptAt"], [one["status"] for one in seen["attempts"]]) == (None, [500])
    assert api.get(f"/api/webhooks/{webhook['id']}", tenant.key).json()["data"]["status"] == "active"


def test_rotate_secret__twice__shows_a_new_secret_each_time(api: Client) -> None:
    tenant = make_tenant()
    webhook = register(api, tenant, NEVER)
    path = f"/api/webhooks/{webhook['id']}/rotate-secret"
    answers = [api.post(path, tenant.key) for _ in range(2)]
    message = "Secret rotated. The old one signs as well for 24 hours."
    assert all(answer.status == 200 for answer in answers)
    assert all(answer.json() == success({**webhook, "secret": SECRET}, message) for answer in answers)
    assert len({webhook["secret"], *(answer.json()["data"]["secret"] for answer in answers)}) == 3


@pytest.mark.parametrize("action", first_on_both(["test", "rotate-secret"]))
def test_action_without_a_body__given_one__refuses_its_fields(api: Client, action: str) -> None:
    tenant = make_tenant()
    webhook = register(api, tenant, NEVER)
    answer = api.post(f"/api/webhooks/{webhook['id']}/{action}", tenant.key, json={"event": "x"})
    assert answer.json() == invalid(("event", "unknown_field", "event: There is no field of this name: event"))


@pytest.mark.parametrize("action", first_on_both(["test", "replay"]))
def test_action__disabled_webhook__is_a_conflict(api: Client, action: str) -> None:
    tenant = make_tenant()
    webhook = register(api, tenant, NEVER)
    api.patch(f"/api/webhooks/{webhook['id']}", tenant.key, json={"status": "disabled"})
    answer = api.post(f"/api/webhooks/{webhook['id']}/{action}", tenant.key)
    assert answer.status == 409
    assert answer.json() == failure("conflict", "This webhook is disabled. Activate it first.")


def test_retry__failing_delivery__is_sent_at_once(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    receiver.replies.append(Reply(500, headers={"Retry-After": "3600"}))
    webhook = register(api, tenant, receiver.url())
    submit_and_get_id(api, tenant, webhook["formId"])
    seen = wait_for_delivery(api, tenant, webhook["id"], attempts_are(1))
    answer = api.post(f"/api/deliveries/{seen['id']}/retry", tenant.key)
    assert answer.status == 200
    assert answer.json() == success({**seen, "nextAttemptAt": TIME}, "Delivery queued again.")
    ended = wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    assert ended["attempts"] == [seen["attempts"][0], attempt(ended, 1, status=200)]


def test_retry__delivery_of_another_organization_or_of_none__is_403_or_404(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    webhook = register(api, tenant, receiver.url())
    submit_and_get_id(api, tenant, webhook["formId"])
    seen = wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    answer = api.post(f"/api/deliveries/{seen['id']}/retry", make_tenant().key)
    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    answer = api.post(f"/api/deliveries/{unknown_id('dlv')}/retry", tenant.key)
    assert (answer.status, answer.json()) == (404, NOT_FOUND)
    answer = api.post(f"/api/deliveries/{webhook['id']}/retry", tenant.key)
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert len(receiver.requests) == 1


def test_retry__webhook_disabled__is_a_conflict(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    webhook = register(api, tenant, receiver.url())
    submit_and_get_id(api, tenant, webhook["formId"])
    seen = wait_for_delivery(api, tenant, webhook["id"], is_delivered)
    api.patch(f"/api/webhooks/{webhook['id']}", tenant.key, json={"status": "disabled"})
    answer = api.post(f"/api/deliveries/{seen['id']}/retry", tenant.key)
    assert answer.status == 409
    assert answer.json() == failure("conflict", "This webhook is disabled. Activate it first.")


def today(days: int = 0) -> str:
    return (dt.datetime.now(dt.UTC).date() + dt.timedelta(days=days)).isoformat()


def told_of(api: Client, tenant: Tenant, receiver: Receiver, count: int) -> dict[str, Any]:
    """Return a webhook that was notified of so many submissions."""
    webhook = register(api, tenant, receiver.url())
    for number in range(count):
        submit_and_get_id(api, tenant, webhook["formId"], {"number": number})
    receiver.wait_for(count)
    eventually(lambda: all(map(is_delivered, log_of(api, tenant, webhook["id"]))))
    return webhook


def test_replay__delivered_range__sends_the_same_messages_again(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    webhook = told_of(api, tenant, receiver, 2)
    body = {"from": today(-1), "to": today(1), "status": "delivered", "dryRun": False}
    answer = api.post(f"/api/webhooks/{webhook['id']}/replay", tenant.key, json=body)
    replayed = {"matched": 2, "replayed": 2, "dryRun": False}
    assert (answer.status, answer.json()) == (200, success(replayed, "2 are sent again."))
    messages = [(one.headers["webhook-id"], one.body) for one in receiver.wait_for(4)]
    assert sorted(messages[:2]) == sorted(messages[2:])
    eventually(lambda: all(len(row["attempts"]) == 2 for row in log_of(api, tenant, webhook["id"])))


def test_replay__dry_run__only_counts(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    webhook = told_of(api, tenant, receiver, 2)
    before = log_of(api, tenant, webhook["id"])

    def matched(**body: Any) -> int:
        answer = api.post(f"/api/webhooks/{webhook['id']}/replay", tenant.key, json={"dryRun": True, **body})
        count = answer.json()["data"]["matched"]
        counted = {"matched": count, "replayed": 0, "dryRun": True}
        assert (answer.status, answer.json()) == (200, success(counted, f"{count} would be sent again."))
        return int(count)

    assert matched(status="delivered") == matched(status="all") == 2
    assert matched() == matched(status="failed") == matched(status="canceled") == 0
    assert matched(status="all", **{"from": today(-1), "to": today(1)}) == 2
    assert matched(status="all", to=today(-1)) == matched(status="all", **{"from": today(1)}) == 0
    second, first = (row["createdAt"] for row in api.get("/api/submissions", tenant.key).json()["data"])
    assert matched(status="all", **{"from": first, "to": second}) == 2
    assert matched(status="all", to=first) == matched(status="all", **{"from": second}) == (2 if first == second else 1)
    assert matched(status="all", **{"from": today(1), "to": today(-1)}) == 0
    assert log_of(api, tenant, webhook["id"]) == before


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"from": "2026-02-30"}, "from", "invalid"),
        ({"to": "20260201"}, "to", "invalid"),
        ({"from": "2026-02-02T10:00:00"}, "from", "invalid"),
        ({"status": "pending"}, "status", "invalid_choice"),
        ({"dryRun": "true"}, "dryRun", "invalid"),
        ({"dryrun": True}, "dryrun", "unknown_field"),
    ],
)
def test_replay__wrong_value__is_a_validation_error(api: Client, body: dict[str, Any], field: str, code: str) -> None:
    tenant = make_tenant()
    webhook = register(api, tenant, NEVER)
    answer = api.post(f"/api/webhooks/{webhook['id']}/replay", tenant.key, json=body)
    assert answer.status == 400
    assert answer.json() == invalid((field, code, answer.json()["message"]))
