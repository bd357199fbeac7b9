"""Authentication (docs/contract.md 3). The dashboard's screens for keys have their own suite."""

import pytest

from keys.access_keys import revoke_key
from keys.models import AccessKey
from keys.tokens import digest, make_token
from tests.services.client import Client
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.quick

REFUSED = {"success": False, "error": "invalid_access_key", "message": "Invalid or missing access key"}


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def test_x_access_key__carries_the_key(api: Client, tenant: Tenant) -> None:
    assert api.get("/api/forms", headers={"x-access-key": tenant.key}).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer {}"},
        {"access-key": "{}"},
        {"x-api-key": "{}"},
        {"x-access-key": "Bearer {}"},
        {"Cookie": "x-access-key={}"},
    ],
    ids=str,
)
def test_key_sent_otherwise__is_refused(api: Client, tenant: Tenant, headers: dict[str, str]) -> None:
    answer = api.get("/api/forms", headers={name: value.format(tenant.key) for name, value in headers.items()})
    assert (answer.status, answer.json()) == (401, REFUSED)


def test_key_in_the_query__is_refused(api: Client, tenant: Tenant) -> None:
    assert api.get(f"/api/forms?x-access-key={tenant.key}").json() == REFUSED


def test_regenerated_key__replaces_the_old_one(api: Client, tenant: Tenant) -> None:
    made = api.post("/api/keys", tenant.key, json={"name": "Rotated"}).json()["data"]
    again = api.post(f"/api/keys/{made['id']}/regenerate", tenant.key).json()["data"]
    assert (again["id"], again["name"]) == (made["id"], "Rotated")
    assert api.get("/api/forms", made["key"]).json() == REFUSED
    assert api.get("/api/forms", again["key"]).status == 200


def test_many_keys__are_active_each_with_a_name(api: Client, tenant: Tenant) -> None:
    names = [f"Application {number}" for number in range(5)]
    made = [api.post("/api/keys", tenant.key, json={"name": name}).json()["data"] for name in names]
    assert [key["name"] for key in made] == names
    assert {api.get("/api/forms", key["key"]).status for key in made} == {200}


def test_enterprise__limits_a_key_and_its_days(api: Client, tenant: Tenant) -> None:
    body = {"name": "Reader", "permissions": ["submissions:read"], "expiresAt": "2999-12-31"}
    key = api.post("/api/keys", tenant.key, json=body).json()["data"]["key"]
    assert [api.get(path, key).status for path in ("/api/submissions", "/api/forms")] == [200, 403]
    AccessKey.objects.filter(digest=digest(key)).update(expires_on="2020-01-01")
    assert api.get("/api/submissions", key).json() == REFUSED


def test_secret_key__is_shown_only_when_generated(api: Client, tenant: Tenant) -> None:
    made = api.post("/api/keys", tenant.key, json={"name": "Secret"}).json()["data"]
    shown = api.get("/api/keys", tenant.key).text + api.get(f"/api/keys/{made['id']}", tenant.key).text
    assert made["key"] not in shown
    assert made["hint"] in shown


def test_revoked_key__is_rejected(api: Client, tenant: Tenant) -> None:
    made = api.post("/api/keys", tenant.key, json={"name": "Old"}).json()["data"]
    assert api.delete(f"/api/keys/{made['id']}", tenant.key).status == 200
    assert api.get("/api/forms", made["key"]).json() == REFUSED


def test_revoked_in_another_process__is_rejected_at_once(api: Client, tenant: Tenant) -> None:
    key = tenant.issue("forms:read")
    assert api.get("/api/forms", key).status == 200
    revoke_key(AccessKey.objects.get(digest=digest(key)), by=None)
    assert api.get("/api/forms", key).json() == REFUSED


def test_well_formed_key_of_nobody__is_rejected(api: Client) -> None:
    assert api.get("/api/forms", make_token()).json() == REFUSED


def test_key_of_another_organization__is_rejected(api: Client, tenant: Tenant) -> None:
    answer = api.get(f"/api/forms/{tenant.form()}", make_tenant().key)
    assert (answer.status, answer.json()["message"]) == (403, "Unauthorized")
