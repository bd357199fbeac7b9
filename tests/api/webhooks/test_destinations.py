"""Destinations over the API: their records, hold and release, templates (docs/contract.md 9)."""

import json
from typing import Any

import pytest

from config.base.ids import Prefix, encode_id, new_id
from tests.services.client import Client
from tests.services.receivers import Receiver, Reply
from tests.services.waiting import eventually
from tests.support.replies import TIME, UNAUTHORIZED, an_id, failure, invalid, success
from tests.support.submitting import submit_and_get_id
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant, text_field
from webhooks.models import Delivery
from webhooks.models import Receiver as ReceiverRow

SLACK = "https://hooks.slack.com/services/T0001/B0001/abcdefghWXYZ"
TEMPLATE = {"who": '{{ data.name | default: "nobody" | truncate: 5 }}', "id": "{{ submission.id }}", "n": 1}


def create(api: Client, tenant: Tenant, **values: Any) -> tuple[int, Any]:
    body = {"formId": None, "kind": "slack", "name": "Team", "config": {"url": SLACK}, **values}
    answer = api.post("/api/destinations", tenant.key, json=body)
    return answer.status, answer.json()


def http_config(receiver: Receiver, **values: Any) -> dict[str, Any]:
    return {"url": receiver.url(), "headers": {"Authorization": "Bearer old-secret"}, "template": TEMPLATE, **values}


def record(kind: str, config: dict[str, Any], **values: Any) -> dict[str, Any]:
    start = {"id": an_id("dst"), "formId": None, "kind": kind, "name": "Team", "config": config, "status": "active"}
    return {**start, "mode": "live", "disabledReason": None, "createdAt": TIME, **values}


def state_of(api: Client, tenant: Tenant, path: str) -> tuple[str, str | None]:
    data = api.get(path, tenant.key).json()["data"]
    return data["status"], data["disabledReason"]


def test_destination__created_read_listed_changed_deleted__shows_no_secret(api: Client) -> None:
    tenant, stranger = make_tenant(), make_tenant()
    status, made = create(api, tenant)
    shown = record("slack", {"url": {"hint": "…WXYZ"}})
    assert (status, made) == (201, success(shown, "Destination created."))
    path = f"/api/destinations/{made['data']['id']}"
    assert api.get(path, tenant.key).json() == success(shown, "Found.")
    listed = api.get("/api/destinations?kind=slack&status=active", tenant.key).json()
    assert listed == {**success([shown], "1 found."), "pagination": {"page": 1, "limit": 25, "total": 1, "pages": 1}}
    changes = {"name": "Sales", "status": "disabled", "config": {"url": SLACK + "1234"}}
    changed = api.patch(path, tenant.key, json=changes).json()
    values = {"name": "Sales", "status": "disabled", "disabledReason": "Disabled by hand."}
    assert changed == success(record("slack", {"url": {"hint": "…1234"}}, **values), "Destination changed.")
    refused = api.post(f"{path}/test", tenant.key)
    assert (refused.status, refused.json()) == (
        409,
        failure("conflict", "This destination is disabled. Activate it first."),
    )
    for method in ("GET", "PATCH", "DELETE"):
        options: dict[str, Any] = {"json": {"name": "x"}} if method == "PATCH" else {}
        foreign = api.request(method, path, stranger.key, **options)
        assert (foreign.status, foreign.json()) == (403, UNAUTHORIZED)
    assert api.get("/api/destinations", stranger.key).json()["data"] == []
    stored = ReceiverRow.objects.values_list("config", flat=True).get(organization=tenant.organization)
    assert stored.startswith("enc1:")
    assert "hooks.slack.com" not in stored
    gone = api.delete(path, tenant.key).json()
    assert gone == success({"id": made["data"]["id"], "deleted": True}, "Destination deleted.")
    assert api.get(path, tenant.key).status == 404


@pytest.mark.parametrize(
    ("values", "field", "code"),
    first_on_both(
        [
            ({"config": {"url": "https://hooks.slack.com.example/services/T/B/x"}}, "config.url", "host_not_allowed"),
            ({"config": {"url": "http://hooks.slack.com/services/T/B/x"}}, "config.url", "host_not_allowed"),
            ({"config": {"url": SLACK, "channel": "x"}}, "config.channel", "unknown_field"),
            ({"config": {}}, "config.url", "required"),
            ({"config": []}, "config", "invalid"),
            ({"kind": "fax"}, "kind", "invalid_choice"),
            ({"kind": "telegram", "config": {"token": "1", "chatId": "5"}}, "config.token", "invalid_token"),
            ({"kind": "ntfy", "config": {"url": "http://10.0.0.1/topic"}}, "config.url", "address_not_allowed"),
            ({"kind": "ntfy", "config": {"url": "https://ntfy.sh/a topic"}}, "config.url", "invalid_characters"),
            (
                {"kind": "http", "config": {"url": "https://192.168.0.1/", "template": {}}},
                "config.url",
                "address_not_allowed",
            ),
            (
                {"kind": "http", "config": {"url": "https://a.invalid/", "template": "{{ data.a }}"}},
                "config.template",
                "invalid_template",
            ),
            (
                {"kind": "http", "config": {"url": "https://a.invalid/", "template": ["{{ 7*7 }}"]}},
                "config.template",
                "invalid_placeholder",
            ),
            (
                {"kind": "http", "config": {"url": "https://a.invalid/", "template": {}, "headers": {"Host": "b"}}},
                "config.headers",
                "reserved",
            ),
            (
                {
                    "kind": "http",
                    "config": {"url": "https://a.invalid/", "template": {}, "headers": {"X-A": "b\r\nHost: c"}},
                },
                "config.headers",
                "invalid_value",
            ),
            (
                {"kind": "http", "config": {"url": "https://a.invalid/\r\nX: y", "template": {}}},
                "config.url",
                "invalid_characters",
            ),
            (
                {"kind": "ntfy", "config": {"url": "https://a.invalid/b", "token": "tk_a\r\nX: y"}},
                "config.token",
                "invalid_token",
            ),
            (
                {
                    "kind": "google_sheets",
                    "config": {"credentials": {"type": "authorized_user"}, "spreadsheetId": "a" * 44, "sheet": "A"},
                },
                "config.credentials",
                "not_a_service_account",
            ),
        ]
    ),
)
def test_create__value_that_is_wrong__names_its_field(api: Client, values: Any, field: str, code: str) -> None:
    status, body = create(api, make_tenant(), **values)
    assert (status, body) == (400, invalid((field, code, body["message"])))


def test_create__template_names_no_field_of_the_form__is_a_validation_error(api: Client) -> None:
    tenant = make_tenant()
    form = tenant.form(fields=[text_field("email")])
    config = {"url": "https://a.invalid/", "template": '["{{ data.name }}"]'}
    text = "config.template: The form has no field “name”."
    assert create(api, tenant, formId=form, kind="http", config=config) == (
        400,
        invalid(("config.template", "unknown_name", text)),
    )
    assert create(api, tenant, formId=tenant.form(), kind="http", config=config)[0] == 201


def test_http__submission__sends_the_filled_template_and_logs_no_secret(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    made = create(api, tenant, formId=form_id, kind="http", config=http_config(receiver, method="PUT"))[1]["data"]
    hints = {"Authorization": {"hint": "…cret"}}
    config = {"url": receiver.url(), "method": "PUT", "headers": hints, "template": TEMPLATE}
    assert made == record("http", config, formId=form_id)
    submission_id = submit_and_get_id(api, tenant, form_id, {"name": 'Ada", "n": "2'})
    (sent,) = receiver.wait_for(1)
    assert (sent.method, json.loads(sent.body)) == ("PUT", {"who": 'Ada"…', "id": submission_id, "n": 1})
    assert sent.headers["authorization"] == "Bearer old-secret"
    delivery = Delivery.objects.get(receiver__isnull=False, organization=tenant.organization)
    path = f"/api/deliveries/{delivery.public_id}"

    def delivered() -> dict[str, Any]:
        data: dict[str, Any] = api.get(path, tenant.key).json()["data"]
        assert data["status"] == "delivered", data
        return data

    shown = eventually(delivered, because="it is delivered", every=0.1)
    assert (shown["channel"], shown["target"], shown["webhookId"]) == ("http", made["id"], None)
    request = shown["attempts"][0]["request"]
    assert (request["method"], request["url"], json.loads(request["body"])) == (
        "PUT",
        receiver.url(),
        json.loads(sent.body),
    )
    assert request["headers"]["Authorization"] == "…"


def test_refused_credentials__hold_everything_and_a_new_config_releases_it(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    made = create(api, tenant, formId=form_id, kind="http", config=http_config(receiver))[1]["data"]
    path = f"/api/destinations/{made['id']}"
    receiver.reply = Reply(status=401)
    submit_and_get_id(api, tenant, form_id)
    reason = "The server refused our request (401, 403 or 410). Check the address and the headers."

    def is_held() -> bool:
        assert state_of(api, tenant, path) == ("needs_attention", reason)
        return True

    eventually(is_held, because="the destination needs attention", every=0.1)
    submit_and_get_id(api, tenant, form_id)
    own = Delivery.objects.filter(receiver__isnull=False, organization=tenant.organization)

    def both_held() -> bool:
        assert list(own.values_list("status", flat=True)) == ["held", "held"]
        return True

    eventually(both_held, because="both deliveries are held", every=0.1)
    assert len(receiver.requests) == 1
    receiver.reply = Reply()
    new = http_config(receiver, headers={"Authorization": "Bearer new-secret"})
    assert api.patch(path, tenant.key, json={"config": new}).json()["data"]["status"] == "active"
    sent = receiver.wait_for(3)
    assert [one.headers["authorization"] for one in sent[1:]] == ["Bearer new-secret"] * 2


def test_successful_test__of_a_destination_that_needs_attention__releases_it(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    made = create(api, tenant, formId=form_id, kind="ntfy", config={"url": receiver.url("/topic")})[1]["data"]
    assert made == record("ntfy", {"url": receiver.url("/topic")}, formId=form_id)
    path = f"/api/destinations/{made['id']}"
    receiver.replies.append(Reply(status=403))
    submit_and_get_id(api, tenant, form_id)
    eventually(lambda: state_of(api, tenant, path)[0] == "needs_attention", because="it is held", every=0.1)
    answer = api.post(f"{path}/test", tenant.key)
    assert (answer.status, answer.json()["message"]) == (200, "Test event queued. The delivery log shows its result.")
    data = answer.json()["data"]
    assert (data["channel"], data["target"], data["test"], data["status"]) == ("ntfy", made["id"], True, "pending")
    sent = receiver.wait_for(3)
    titles = [json.loads(one.body)["title"] for one in sent]
    assert titles == ["New submission: Contact", "Test: new submission to Contact", "New submission: Contact"]
    assert state_of(api, tenant, path) == ("active", None)


def test_replay__of_a_range__sends_it_again_and_the_log_shows_both(api: Client, receiver: Receiver) -> None:
    tenant, stranger = make_tenant(), make_tenant()
    form_id = tenant.form()
    made = create(api, tenant, formId=form_id, kind="http", config=http_config(receiver))[1]["data"]
    path = f"/api/destinations/{made['id']}"
    submission_id = submit_and_get_id(api, tenant, form_id)

    def delivered(attempts: int) -> dict[str, Any]:
        answer = api.get(f"{path}/deliveries?status=delivered", tenant.key).json()
        assert answer["pagination"] == {"page": 1, "limit": 25, "total": 1, "pages": 1}
        (found,) = answer["data"]
        assert len(found["attempts"]) == attempts, found
        return dict(found)

    first = eventually(lambda: delivered(1), because="it is delivered", every=0.1)
    assert (first["channel"], first["target"], first["submissionId"]) == ("http", made["id"], submission_id)
    body = {"status": "delivered", "dryRun": True}
    counted = api.post(f"{path}/replay", tenant.key, json=body).json()
    assert counted == success({"matched": 1, "replayed": 0, "dryRun": True}, "1 would be sent again.")
    replayed = api.post(f"{path}/replay", tenant.key, json={**body, "dryRun": False}).json()
    assert replayed == success({"matched": 1, "replayed": 1, "dryRun": False}, "1 are sent again.")
    assert eventually(lambda: delivered(2), because="it is delivered again", every=0.1)["id"] == first["id"]
    assert {json.loads(one.body)["id"] for one in receiver.wait_for(2)} == {submission_id}
    api.patch(path, tenant.key, json={"status": "disabled"})
    for action in ("replay", "test"):
        refused = api.post(f"{path}/{action}", tenant.key)
        conflict = failure("conflict", "This destination is disabled. Activate it first.")
        assert (refused.status, refused.json()) == (409, conflict)
        assert api.post(f"{path}/{action}", stranger.key).json() == UNAUTHORIZED
    assert api.get(f"{path}/deliveries", stranger.key).json() == UNAUTHORIZED
    assert api.get(f"/api/destinations/{encode_id(Prefix.DESTINATION, new_id())}/deliveries", tenant.key).status == 404
