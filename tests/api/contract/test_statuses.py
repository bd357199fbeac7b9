"""The common status codes, and the three messages of authentication failures (docs/contract.md 1.15)."""

from collections.abc import Callable
from typing import Any

import pytest

from config.base.ids import Prefix
from keys.plans import Plan
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.replies import unknown_id
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.quick


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def told(answer: Answer) -> tuple[int, str, str]:
    """Return status, code and message of an error, after making sure that the envelope holds nothing else."""
    body: dict[str, Any] = answer.json()
    assert body.keys() - {"details"} == {"success", "error", "message"}
    assert body["success"] is False
    return answer.status, body["error"], body["message"]


def test_request_succeeded__200(api: Client, tenant: Tenant) -> None:
    assert api.get("/api/forms", tenant.key).status == 200


def test_resource_created__201(api: Client, tenant: Tenant) -> None:
    assert api.post("/api/forms", tenant.key, json={"name": "Contact"}).status == 201
    assert api.post("/api/submit", tenant.key, json={"name": "Ada"}).status == 201


def test_invalid_parameters__400(api: Client, tenant: Tenant) -> None:
    assert told(api.get("/api/submissions?page=0", tenant.key))[:2] == (400, "validation_error")
    assert told(api.post("/api/forms", tenant.key, json={"name": 5}))[:2] == (400, "validation_error")


def test_invalid_or_missing_access_key__401(api: Client) -> None:
    assert told(api.get("/api/forms")) == (401, "invalid_access_key", "Invalid or missing access key")


def test_access_denied__403(api: Client, tenant: Tenant) -> None:
    assert told(api.get("/api/keys", tenant.issue("forms:read"))) == (403, "forbidden", "Forbidden")


def test_resource_not_found__404(api: Client, tenant: Tenant) -> None:
    assert told(api.get(f"/api/forms/{unknown_id(Prefix.FORM)}", tenant.key))[:2] == (404, "not_found")


def test_rate_limited__429(api: Client) -> None:
    key = make_tenant(Plan.FREE).key
    statuses = [api.get("/api/forms", key).status for _ in range(101)]
    assert (set(statuses[:100]), statuses[100]) == ({200}, 429)


@pytest.mark.on_sqlite
def test_internal_server_error__500(start_service: Callable[..., Application], tenant: Tenant) -> None:
    broken = start_service(BURST_PER_FORM="nonsense")  # no rate can be read from it when a page submits
    with Client(broken.port) as api:
        answer = api.post("/api/submit", tenant.publishable, json={"name": "Ada"}, headers={"X-Request-Id": "seen-7"})
    assert told(answer)[:2] == (500, "internal_error")
    assert "seen-7" in answer.json()["message"]
    assert "Traceback" not in answer.text


MISSING = (401, "invalid_access_key", "Invalid or missing access key")


def test_key_missing__invalid_or_missing(api: Client) -> None:
    assert told(api.get("/api/submissions")) == MISSING


def test_key_misspelled__invalid_or_missing(api: Client, tenant: Tenant) -> None:
    assert told(api.get("/api/submissions", tenant.key[:-1])) == MISSING
    assert told(api.get("/api/submissions", tenant.key.upper())) == MISSING


def test_key_in_another_header__invalid_or_missing(api: Client, tenant: Tenant) -> None:
    assert told(api.get("/api/submissions", headers={"x-api-key": tenant.key})) == MISSING


def test_key_revoked__invalid_or_missing(api: Client, tenant: Tenant) -> None:
    made = api.post("/api/keys", tenant.key, json={"name": "Old"}).json()["data"]
    api.delete(f"/api/keys/{made['id']}", tenant.key)
    assert told(api.get("/api/submissions", made["key"])) == MISSING


def test_key_regenerated__invalid_or_missing(api: Client, tenant: Tenant) -> None:
    made = api.post("/api/keys", tenant.key, json={"name": "Old"}).json()["data"]
    api.post(f"/api/keys/{made['id']}/regenerate", tenant.key)
    assert told(api.get("/api/submissions", made["key"])) == MISSING


def test_key_lacks_permission__unauthorized(api: Client, tenant: Tenant) -> None:
    answer = api.post("/api/forms", tenant.issue("forms:read"), json={"name": "Contact"})
    assert told(answer) == (403, "unauthorized", "Unauthorized")


def test_key_of_another_organization__unauthorized(api: Client, tenant: Tenant) -> None:
    answer = api.get(f"/api/forms/{tenant.form()}", make_tenant().key)
    assert told(answer) == (403, "unauthorized", "Unauthorized")


def test_no_permission_for_this_endpoint__forbidden(api: Client, tenant: Tenant) -> None:
    assert told(api.get("/api/analytics", tenant.issue("forms:read"))) == (403, "forbidden", "Forbidden")
    assert told(api.get("/api/forms", tenant.publishable)) == (403, "forbidden", "Forbidden")
