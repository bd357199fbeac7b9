"""Resources and their fields, the pagination object, the envelope (docs/contract.md 1)."""

import re
from typing import Any

import pytest

from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.support.tenants import Tenant, make_tenant, text_field

pytestmark = pytest.mark.quick

PERMISSIONS = [
    "forms:read",
    "forms:write",
    "submissions:read",
    "submissions:export",
    "webhooks:write",
    "analytics:read",
]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def test_access_key__created__has_value_name_permissions_expiry(api: Client, tenant: Tenant) -> None:
    body = {"name": "Nightly export", "permissions": PERMISSIONS[2:4], "expiresAt": "2999-12-31"}
    made = api.post("/api/keys", tenant.key, json=body).json()["data"]
    assert {name: made[name] for name in body} == body
    assert re.fullmatch(r"fp_[0-9A-Za-z]+", made["key"])


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_access_key__each_permission__is_an_allowed_value(api: Client, tenant: Tenant, permission: str) -> None:
    answer = api.post("/api/keys", tenant.key, json={"name": "One", "permissions": [permission]})
    assert (answer.status, answer.json()["data"]["permissions"]) == (201, [permission])


def test_access_key__any_other_permission__validation_error(api: Client, tenant: Tenant) -> None:
    answer = api.post("/api/keys", tenant.key, json={"name": "One", "permissions": ["forms:delete"]})
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")


def test_access_key__no_expiry_given__is_optional(api: Client, tenant: Tenant) -> None:
    assert api.post("/api/keys", tenant.key, json={"name": "One"}).json()["data"]["expiresAt"] is None


def test_access_key__several__are_active_at_once(api: Client, tenant: Tenant) -> None:
    keys = [api.post("/api/keys", tenant.key, json={"name": name}).json()["data"]["key"] for name in ("A", "B")]
    assert [api.get("/api/forms", key).status for key in [tenant.key, *keys]] == [200, 200, 200]


def test_form__created__has_id_name_and_fields(api: Client, tenant: Tenant) -> None:
    fields = [{"label": kind, "type": kind} for kind in ("Text", "Email", "Textarea")]
    made = api.post("/api/forms", tenant.key, json={"name": "Contact", "fields": fields}).json()["data"]
    assert made["name"] == "Contact"
    assert [{"label": field["label"], "type": field["type"]} for field in made["fields"]] == fields
    assert api.get(f"/api/forms/{made['id']}", tenant.key).json()["data"] == made


def test_form__its_id__is_the_form_id_of_a_webhook(api: Client, tenant: Tenant, receiver: Receiver) -> None:
    form = api.post("/api/forms", tenant.key, json={"name": "Contact"}).json()["data"]["id"]
    body = {"formId": form, "url": receiver.url(), "events": ["submission.created"]}
    assert api.post("/api/webhooks", tenant.key, json=body).json()["data"]["formId"] == form


def test_submission__values__are_strings_under_the_inputs_names(api: Client, tenant: Tenant) -> None:
    values = {"first-name": "Ada", "e-mail": "ada@example.com", "message": ""}
    assert api.post("/api/submit", tenant.key, json=values).status == 201
    assert api.get("/api/submissions", tenant.key).json()["data"][0]["data"] == values


@pytest.mark.parametrize("missing", ["formId", "url", "events"])
def test_webhook__required_field_left_out__validation_error(
    api: Client, tenant: Tenant, receiver: Receiver, missing: str
) -> None:
    body: dict[str, Any] = {"formId": tenant.form(), "url": receiver.url(), "events": ["submission.created"]}
    del body[missing]
    answer = api.post("/api/webhooks", tenant.key, json=body)
    assert (answer.status, answer.json()["details"][0]["field"]) == (400, missing)


def test_pagination__of_a_list__is_four_integers(api: Client, tenant: Tenant) -> None:
    body = api.get("/api/submissions?page=1&limit=10", tenant.key).json()
    assert body == {"data": [], "pagination": {"page": 1, "limit": 10, "total": 0, "pages": 0}}


def test_envelope__success__is_success_data_message(api: Client, tenant: Tenant) -> None:
    body = api.post("/api/forms", tenant.key, json={"name": "Contact", "fields": [text_field("name")]}).json()
    assert (body.keys(), body["success"]) == ({"success", "data", "message"}, True)
    assert isinstance(body["message"], str)
    assert body["message"]


def test_envelope__error__is_success_error_message(api: Client, tenant: Tenant) -> None:
    body = api.get("/api/nothing", tenant.key).json()
    assert (body.keys(), body["success"], body["error"]) == ({"success", "error", "message"}, False, "not_found")
    assert isinstance(body["message"], str)
    assert body["message"]
