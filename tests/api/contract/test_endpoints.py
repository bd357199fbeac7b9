"""The endpoints (docs/contract.md 3.12). `/forms.js` has its own suite."""

from typing import Any

import pytest

from keys.plans import Plan
from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.quick


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


ENDPOINTS: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/api/forms", {}),
    ("GET", "/api/submissions", {}),
    ("POST", "/api/submit", {"json": {"name": "Ada"}}),
    ("POST", "/api/webhooks", {"json": {}}),
    ("POST", "/api/keys", {"json": {"name": "New"}}),
]


@pytest.mark.parametrize(("method", "path", "options"), ENDPOINTS)
def test_no_access_key__is_refused_everywhere(api: Client, method: str, path: str, options: dict[str, Any]) -> None:
    answer = api.request(method, path, **options)
    assert (answer.status, answer.headers["Content-Type"]) == (401, "application/json")
    assert answer.json()["message"] == "Invalid or missing access key"


@pytest.mark.parametrize("path", ["/api/submit", "/api/webhooks", "/api/keys"])
def test_body_of_another_type__is_refused(api: Client, tenant: Tenant, path: str) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = api.post(path, tenant.key, data="name=Ada", headers=headers)
    assert (answer.status, answer.json()["error"]) == (415, "unsupported_media_type")


def test_get_forms__success_envelope(api: Client, tenant: Tenant) -> None:
    answer = api.get("/api/forms", tenant.key)
    body = answer.json()
    assert (answer.status, body["success"], len(body["message"]) > 0) == (200, True, True)
    assert [form["id"] for form in body["data"]] == [tenant.default_form_id]


def test_get_submissions__data_and_pagination_alone(api: Client, tenant: Tenant) -> None:
    for number in range(3):
        api.post("/api/submit", tenant.key, json={"n": number})
    body = api.get("/api/submissions?page=2&limit=2", tenant.key).json()
    assert body.keys() == {"data", "pagination"}
    assert [one["data"] for one in body["data"]] == [{"n": "0"}]
    assert body["pagination"] == {"page": 2, "limit": 2, "total": 3, "pages": 2}


def test_post_submit__json_with_a_boolean_success(api: Client, tenant: Tenant) -> None:
    stored = api.post("/api/submit", tenant.key, json={"name": "Ada", "email": "ada@example.com"})
    assert (stored.status, stored.json()["success"]) == (201, True)
    refused = api.post("/api/submit", tenant.key, json={})
    assert (refused.status, refused.json()["success"]) == (400, False)


def test_post_webhooks__attaches_it(api: Client, tenant: Tenant, receiver: Receiver) -> None:
    body = {"formId": tenant.form(), "url": receiver.url(), "events": ["submission.created"]}
    answer = api.post("/api/webhooks", tenant.key, json=body)
    assert answer.status == 201
    assert {name: answer.json()["data"][name] for name in body} == body


def test_post_keys__makes_a_scoped_key(api: Client, tenant: Tenant) -> None:
    body = {"name": "Reader", "permissions": ["forms:read"], "expiresAt": "2999-12-31"}
    answer = api.post("/api/keys", tenant.key, json=body)
    assert answer.status == 201
    assert api.get("/api/forms", answer.json()["data"]["key"]).status == 200


def test_post_keys__without_an_administrative_key__is_refused(api: Client, tenant: Tenant) -> None:
    answer = api.post("/api/keys", tenant.issue("forms:read", "forms:write"), json={"name": "Reader"})
    assert (answer.status, answer.json()["message"]) == (403, "Forbidden")


@pytest.mark.parametrize("plan", [Plan.FREE, Plan.PRO])
def test_post_keys__without_enterprise__is_refused(api: Client, plan: Plan) -> None:
    answer = api.post("/api/keys", make_tenant(plan).key, json={"name": "Reader"})
    assert (answer.status, answer.json()["error"]) == (403, "plan_required")
    assert "Enterprise" in answer.json()["message"]
