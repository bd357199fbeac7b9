"""Webhooks of all forms, `formId: null` (docs/contract.md 7.3, 7.5)."""

import json
from typing import Any

import pytest

from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.services.waiting import eventually
from tests.support.replies import TIME, UNAUTHORIZED, Like, an_id, failure, invalid, success
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import EVENTS, message_id_of, register, register_for_all_forms

URL = "https://hooks.invalid/fieldpost"
RECORD = {
    "id": an_id("whk"),
    "formId": None,
    "url": URL,
    "events": EVENTS,
    "status": "active",
    "mode": "live",
    "disabledReason": None,
    "createdAt": TIME,
}


def create(api: Client, tenant: Tenant, **values: Any) -> tuple[int, Any]:
    answer = api.post("/api/webhooks", tenant.key, json={"formId": None, "url": URL, "events": EVENTS, **values})
    return answer.status, answer.json()


def test_create__form_id_is_null__answers_a_record_that_is_read_listed_and_changed(api: Client) -> None:
    tenant = make_tenant()
    status, made = create(api, tenant)
    message = "Webhook created. Keep its secret: it is not shown again."
    assert (status, made) == (201, success({**RECORD, "secret": Like(r"whsec_[A-Za-z0-9+/]{43}=")}, message))
    path, shown = f"/api/webhooks/{made['data']['id']}", {name: made["data"][name] for name in RECORD}
    assert api.get(path, tenant.key).json() == success(shown, "Found.")
    one = {"page": 1, "limit": 25, "total": 1, "pages": 1}
    assert api.get("/api/webhooks", tenant.key).json() == {**success([shown], "1 found."), "pagination": one}
    of_form = api.get(f"/api/webhooks?formId={tenant.default_form_id}", tenant.key).json()
    assert of_form["data"] == []
    moved = api.patch(path, tenant.key, json={"url": f"{URL}/2"}).json()
    assert moved == success({**shown, "url": f"{URL}/2"}, "Webhook changed.")
    fixed = api.patch(path, tenant.key, json={"formId": tenant.default_form_id})
    assert (fixed.status, fixed.json()) == (400, invalid(("formId", "unknown_field", fixed.json()["message"])))
    rotated = api.post(f"{path}/rotate-secret", tenant.key).json()["data"]
    assert {**rotated, "secret": None} == {**shown, "url": f"{URL}/2", "secret": None}
    assert api.delete(path, tenant.key).json() == success({"id": shown["id"], "deleted": True}, "Webhook deleted.")
    assert api.get(path, tenant.key).status == 404


@pytest.mark.on_sqlite
def test_create__without_form_id__is_a_validation_error(api: Client) -> None:
    tenant = make_tenant()
    answer = api.post("/api/webhooks", tenant.key, json={"url": URL, "events": EVENTS})
    assert (answer.status, answer.json()) == (400, invalid(("formId", "required", answer.json()["message"])))
    reader = tenant.issue("forms:write")
    assert api.post("/api/webhooks", reader, json={"formId": None, "url": URL, "events": EVENTS}).status == 403


def test_create__url_of_a_form_or_of_all_forms__is_a_conflict_both_ways(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    form_id = tenant.form(name="Jobs")
    own = register(api, tenant, URL, form_id)
    text = f"The form “Jobs” has a webhook with this URL already: {own['id']}. Delete that one first."
    assert create(api, tenant) == (409, failure("conflict", text))
    assert create(api, other)[0] == 201
    assert api.delete(f"/api/webhooks/{own['id']}", tenant.key).status == 200
    wide = register_for_all_forms(api, tenant, URL)
    text = (
        f"A webhook of all forms has this URL already: {wide['id']}. It receives the submissions of this form too. "
        "Change that one instead."
    )
    assert create(api, tenant, formId=form_id) == (409, failure("conflict", text))
    text = "A webhook of all forms has this URL already. Change that one instead."
    assert create(api, tenant) == (409, failure("conflict", text))
    own = register(api, tenant, f"{URL}/2", form_id)
    assert api.patch(f"/api/webhooks/{own['id']}", tenant.key, json={"url": URL}).status == 409
    assert api.patch(f"/api/webhooks/{wide['id']}", tenant.key, json={"url": own["url"]}).status == 409
    listed = api.get("/api/webhooks", tenant.key).json()["data"]
    assert [(one["id"], one["url"]) for one in listed] == [(own["id"], own["url"]), (wide["id"], URL)]


def test_submissions__of_every_form_now_and_later__arrive_and_those_of_others_never(
    api: Client, receiver: Receiver
) -> None:
    tenant, stranger = make_tenant(), make_tenant()
    before = tenant.form(name="Before")
    wide = register_for_all_forms(api, tenant, receiver.url())
    later = tenant.form(name="Later")
    submit_and_get_id(api, stranger, stranger.form())
    sent = {submit_and_get_id(api, tenant, form): form for form in (before, later, tenant.default_form_id)}
    messages = receiver.wait_for(3)
    assert {message.headers["webhook-id"] for message in messages} == set(map(message_id_of, sent))
    found = [json.loads(message.body) for message in messages]
    assert {message["data"]["id"]: message["data"]["formId"] for message in found} == sent
    path = f"/api/webhooks/{wide['id']}"

    def is_recorded() -> bool:
        replayed = api.post(f"{path}/replay", tenant.key, json={"status": "all", "dryRun": True}).json()
        return bool(replayed["data"] == {"matched": 3, "replayed": 0, "dryRun": True})

    eventually(is_recorded, because="all three deliveries have ended")
    test = api.post(f"{path}/test", tenant.key).json()["data"]
    assert (test["test"], test["webhookId"], test["submissionId"]) == (True, wide["id"], None)
    example = json.loads(receiver.wait_for(4)[3].body)
    assert (example["type"], example["data"]["formId"]) == ("submission.created", tenant.default_form_id)
    assert example["data"]["test"] is True
    for method in ("GET", "DELETE"):
        refused = api.request(method, path, stranger.key)
        assert (refused.status, refused.json()) == (403, UNAUTHORIZED)
    assert api.get("/api/webhooks", stranger.key).json()["data"] == []
