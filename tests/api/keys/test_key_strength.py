"""No key makes, regenerates or revokes a stronger one (docs/contract.md 3.7)."""

import datetime as dt
from typing import Any

import pytest

from config.base.times import now
from keys.models import AccessKey
from tests.services.client import Client
from tests.support.key_records import PUBLISHABLE, SECRET, id_of_key, record
from tests.support.replies import ALL_SIX, FORBIDDEN, INVALID_ACCESS_KEY, UNAUTHORIZED, success
from tests.support.tenants import Tenant, make_tenant

TODAY = now().date()  # once for the whole module, so that midnight finds every date moved or none
TOMORROW = TODAY + dt.timedelta(days=1)
LAST_DAY = TODAY + dt.timedelta(days=10)  # on which the weak key below ends
TOO_LATE = LAST_DAY + dt.timedelta(days=1)


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def weak_key(tenant: Tenant) -> str:
    """Return an administrative key that may read forms and submissions, and ends in ten days."""
    return tenant.issue("forms:read", "submissions:read", admin=True, expires_on=LAST_DAY)


@pytest.mark.parametrize(
    "body",
    [
        {"expiresAt": str(TOMORROW)},  # all six
        {"permissions": ["forms:read", "forms:write"], "expiresAt": str(TOMORROW)},
        {"permissions": ["webhooks:write"], "expiresAt": str(TOMORROW)},
        {"permissions": ["forms:read"]},  # without an expiry date
        {"permissions": [], "expiresAt": str(TOO_LATE)},
    ],
)
def test_create__more_than_the_asking_key_has__is_unauthorized_and_makes_nothing(
    body: dict[str, Any], tenant: Tenant, api: Client
) -> None:
    weak = weak_key(tenant)
    before = AccessKey.objects.filter(organization=tenant.organization).count()
    answer = api.post("/api/keys", weak, json={"name": "Made", **body})
    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    assert AccessKey.objects.filter(organization=tenant.organization).count() == before


@pytest.mark.parametrize("permissions", [["forms:read", "submissions:read"], ["forms:read"], []])
@pytest.mark.parametrize("expires", [str(LAST_DAY), str(TOMORROW)])
def test_create__as_much_as_the_asking_key_has_or_less__is_made(
    permissions: list[str], expires: str, tenant: Tenant, api: Client
) -> None:
    body = {"name": "Made", "permissions": permissions, "expiresAt": expires}
    answer = api.post("/api/keys", weak_key(tenant), json=body)
    expected = record(permissions=permissions, expiresAt=expires, key=SECRET)
    assert (answer.status, answer.json()) == (201, success(expected))


def test_create__publishable_through_a_key_without_permissions__is_made(tenant: Tenant, api: Client) -> None:
    answer = api.post("/api/keys", tenant.issue(admin=True), json={"name": "Page", "kind": "publishable"})
    expected = record("Page", kind="publishable", permissions=[], key=PUBLISHABLE)
    assert (answer.status, answer.json()) == (201, success(expected))


def test_create__through_an_administrative_key__never_makes_another_one(tenant: Tenant, api: Client) -> None:
    key = api.post("/api/keys", tenant.key, json={"name": "Made"}).json()["data"]["key"]
    assert api.get("/api/keys", key).json() == FORBIDDEN
    assert api.post("/api/keys", key, json={"name": "Made"}).json() == FORBIDDEN


@pytest.mark.parametrize(
    ("permissions", "options"),
    [
        (ALL_SIX, {"expires_on": TOMORROW}),
        (["forms:read", "analytics:read"], {"expires_on": TOMORROW}),
        (["forms:read"], {}),
        ([], {"expires_on": TOO_LATE}),
        (ALL_SIX, {"admin": True}),
        (["forms:read"], {"admin": True}),
    ],
)
def test_regenerate__key_stronger_than_the_asking_one__is_unauthorized_and_goes_on_working(
    permissions: list[str], options: dict[str, Any], tenant: Tenant, api: Client
) -> None:
    strong = tenant.issue(*permissions, **options)
    answer = api.post(f"/api/keys/{id_of_key(strong)}/regenerate", weak_key(tenant))
    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    assert api.post("/api/submit", strong, json={"message": "Hello"}).status == 201


@pytest.mark.parametrize("admin", [False, True])
def test_regenerate__key_as_strong_as_the_asking_one__is_done(admin: bool, tenant: Tenant, api: Client) -> None:
    permissions = ["forms:read", "submissions:read"]
    peer = tenant.issue(*permissions, admin=admin, expires_on=LAST_DAY)
    answer = api.post(f"/api/keys/{id_of_key(peer)}/regenerate", weak_key(tenant))
    expected = record("Test", admin=admin, permissions=permissions, expiresAt=str(LAST_DAY), key=SECRET)
    assert (answer.status, answer.json()) == (200, success(expected))


def test_regenerate__weak_key_itself__is_done_with_the_same_end(tenant: Tenant, api: Client) -> None:
    weak = weak_key(tenant)
    answer = api.post(f"/api/keys/{id_of_key(weak)}/regenerate", weak)
    assert (answer.status, answer.json()["data"]["expiresAt"]) == (200, str(LAST_DAY))
    assert api.get("/api/keys", weak).json() == INVALID_ACCESS_KEY


@pytest.mark.parametrize(
    ("permissions", "options"),
    [(ALL_SIX, {"expires_on": TOMORROW}), (["forms:read"], {}), (["forms:read"], {"admin": True})],
)
def test_revoke__key_stronger_than_the_asking_one__is_unauthorized_and_goes_on_working(
    permissions: list[str], options: dict[str, Any], tenant: Tenant, api: Client
) -> None:
    strong = tenant.issue(*permissions, **options)
    answer = api.delete(f"/api/keys/{id_of_key(strong)}", weak_key(tenant))
    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    assert api.post("/api/submit", strong, json={"message": "Hello"}).status == 201


def test_revoke__key_as_strong_as_the_asking_one_or_itself__is_done(tenant: Tenant, api: Client) -> None:
    weak = weak_key(tenant)
    peer = tenant.issue("forms:read", admin=True, expires_on=LAST_DAY)
    assert api.delete(f"/api/keys/{id_of_key(peer)}", weak).status == 200
    assert api.delete(f"/api/keys/{id_of_key(weak)}", weak).status == 200
    assert api.get("/api/keys", weak).json() == INVALID_ACCESS_KEY


def test_key_without_the_flag__with_every_permission__can_do_nothing_to_others(tenant: Tenant, api: Client) -> None:
    plain = tenant.issue(*ALL_SIX)
    path = f"/api/keys/{id_of_key(plain)}"
    answers = [
        api.get("/api/keys", plain),
        api.post("/api/keys", plain, json={"name": "Made"}),
        api.get(path, plain),
        api.delete(f"/api/keys/{id_of_key(tenant.issue())}", plain),
        api.post(f"{path}/regenerate", plain),
    ]
    assert [(one.status, one.json()) for one in answers] == [(403, FORBIDDEN)] * 5
