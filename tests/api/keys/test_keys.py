"""`/api/keys`: creating, reading, regenerating and revoking keys. The limits of weak keys: `test_key_strength.py`."""

import datetime as dt
from typing import Any

import pytest

from config.base.times import now
from forms_app.sign_up import PUBLISHABLE_KEY_NAMES
from keys.models import AccessKey
from keys.organizations import set_plan
from keys.plans import Plan
from tests.services.client import Client
from tests.support.key_records import PUBLISHABLE, SECRET, expire, id_of_key, key_of, record, today
from tests.support.replies import (
    FORBIDDEN,
    INVALID_ACCESS_KEY,
    SENTENCE,
    TIME,
    UNAUTHORIZED,
    Like,
    failure,
    success,
    wrong_fields,
)
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ({}, {}),
        ({"permissions": ["forms:read"]}, {"permissions": ["forms:read"]}),
        (
            {"permissions": ["submissions:read", "analytics:read"], "kind": "secret"},
            {"permissions": ["submissions:read", "analytics:read"]},
        ),
        ({"permissions": []}, {"permissions": []}),
        ({"expiresAt": today(1)}, {"expiresAt": today(1)}),
        ({"expiresAt": "9999-12-31"}, {"expiresAt": "9999-12-31"}),
    ],
)
def test_create__secret_key__answers_the_record_and_the_key(
    body: dict[str, Any], made: dict[str, Any], tenant: Tenant, api: Client
) -> None:
    answer = api.post("/api/keys", tenant.key, json={"name": "Made", **body})
    assert (answer.status, answer.json()) == (201, success(record(**made, key=SECRET)))
    data = answer.json()["data"]
    assert data["hint"][-4:] == data["key"][-4:]
    shown = api.get(f"/api/keys/{data['id']}", tenant.key)
    assert (shown.status, shown.json()) == (200, success(record(**made, id=data["id"], createdAt=data["createdAt"])))


def test_create__publishable_key__can_submit_and_nothing_else(tenant: Tenant, api: Client) -> None:
    answer = api.post("/api/keys", tenant.key, json={"name": "Page", "kind": "publishable"})
    expected = record("Page", kind="publishable", permissions=[], key=PUBLISHABLE)
    assert (answer.status, answer.json()) == (201, success(expected))
    key = answer.json()["data"]["key"]
    assert api.post("/api/submit", key, json={"message": "Hello"}).status == 201
    assert api.get("/api/forms", key).json() == FORBIDDEN


def test_create__empty_permissions__gives_a_key_that_can_only_submit(tenant: Tenant, api: Client) -> None:
    key = api.post("/api/keys", tenant.key, json={"name": "Sender", "permissions": []}).json()["data"]["key"]
    assert api.post("/api/submit", key, json={"message": "Hello"}).status == 201
    for path in ("forms", "submissions", "submissions/export", "webhooks", "analytics", "keys"):
        answer = api.get(f"/api/{path}", key)
        assert (answer.status, answer.json()) == (403, FORBIDDEN), path


def test_create__expiring_today__works_until_the_day_is_over(tenant: Tenant, api: Client) -> None:
    answer = api.post("/api/keys", tenant.key, json={"name": "Made", "expiresAt": today()})
    assert (answer.status, answer.json()) == (201, success(record(expiresAt=today(), key=SECRET)))
    key = answer.json()["data"]["key"]
    assert api.get("/api/forms", key).status == 200
    assert api.post("/api/submit", key, json={"message": "Hello"}).status == 201
    expire(key)
    for refused in (api.get("/api/forms", key), api.post("/api/submit", key, json={"message": "Hello"})):
        assert (refused.status, refused.json()) == (401, INVALID_ACCESS_KEY)


@pytest.mark.parametrize(
    ("body", "fields"),
    first_on_both(
        [
            ({}, {"name"}),
            ({"name": 5}, {"name"}),
            ({"name": None}, {"name"}),
            ({"name": ["Made"]}, {"name"}),
            ({"name": "Made", "permissions": "forms:read"}, {"permissions"}),
            ({"name": "Made", "permissions": {"forms:read": True}}, {"permissions"}),
            ({"name": "Made", "permissions": ["forms:read", "forms:delete"]}, {"permissions.1"}),
            ({"name": "Made", "permissions": ["FORMS:READ"]}, {"permissions.0"}),
            ({"name": "Made", "permissions": [5]}, {"permissions.0"}),
            ({"name": "Made", "kind": "root"}, {"kind"}),
            ({"name": "Made", "kind": 1}, {"kind"}),
            ({"name": "Made", "expiresAt": today(-1)}, {"expiresAt"}),
            ({"name": "Made", "expiresAt": "2020-01-01"}, {"expiresAt"}),
            ({"name": "Made", "expiresAt": "31.12.2030"}, {"expiresAt"}),
            ({"name": "Made", "expiresAt": "2030-2-1"}, {"expiresAt"}),
            ({"name": "Made", "expiresAt": "2030-02-30"}, {"expiresAt"}),
            ({"name": "Made", "expiresAt": "2030-12-31T00:00:00Z"}, {"expiresAt"}),
            ({"name": "Made", "expiresAt": "20301231"}, {"expiresAt"}),
            ({"name": "Made", "expiresAt": ""}, {"expiresAt"}),
            ({"name": "Made", "expiresAt": 20301231}, {"expiresAt"}),
            ({"name": "Made", "expiresAt": 1924905600.0}, {"expiresAt"}),
            ({"name": "Made", "permission": ["forms:read"]}, {"permission"}),
            ({"name": "Made", "admin": True}, {"admin"}),
            ({"name": "Made", "expires": "2030-12-31"}, {"expires"}),
            ({"name": 5, "kind": "root", "nmae": "Made"}, {"name", "kind", "nmae"}),
        ]
    ),
)
def test_create__wrong_values__names_each_of_them_and_makes_nothing(
    body: dict[str, Any], fields: set[str], tenant: Tenant, api: Client
) -> None:
    before = AccessKey.objects.filter(organization=tenant.organization).count()
    assert wrong_fields(api.post("/api/keys", tenant.key, json=body)) == fields
    assert AccessKey.objects.filter(organization=tenant.organization).count() == before


def test_list__several_keys__are_newest_first_and_without_their_secrets(tenant: Tenant, api: Client) -> None:
    scoped = api.post("/api/keys", tenant.key, json={"name": "Scoped", "permissions": ["forms:read"]}).json()["data"]
    answer = api.get("/api/keys", tenant.key)
    assert answer.status == 200
    assert answer.json() == {
        "success": True,
        "data": [
            record("Scoped", permissions=["forms:read"], id=scoped["id"]),
            record("Administrative", admin=True, lastUsedAt=TIME, hint=f"fp_…{tenant.key[-4:]}"),
            record(Like(".+"), kind="publishable", mode="test", permissions=[], hint=Like("fp_pub_test_….{4}")),
            record(Like(".+"), kind="publishable", permissions=[], hint=f"fp_pub_…{tenant.publishable[-4:]}"),
        ],
        "message": SENTENCE,
        "pagination": {"page": 1, "limit": 25, "total": 4, "pages": 1},
    }


def test_list__by_pages__gives_each_key_once(tenant: Tenant, api: Client) -> None:
    pages = [api.get(f"/api/keys?page={page}&limit=1", tenant.key).json() for page in (1, 2, 3, 4)]
    names = [key["name"] for page in pages for key in page["data"]]
    assert (names[0], sorted(names[1:])) == ("Administrative", sorted(PUBLISHABLE_KEY_NAMES.values()))
    assert pages[3]["data"] == []
    assert pages[3]["pagination"] == {"page": 4, "limit": 1, "total": 3, "pages": 3}


def test_list__other_organizations__are_not_in_it(tenant: Tenant, api: Client) -> None:
    other = make_tenant()
    listed = {key["id"] for key in api.get("/api/keys", tenant.key).json()["data"]}
    assert listed == {id_of_key(token) for token in (tenant.key, tenant.publishable, tenant.test_publishable)}
    assert id_of_key(other.key) not in listed


def test_revoke__key_in_use__stops_it_on_the_very_next_request_everywhere(tenant: Tenant, api: Client) -> None:
    key = tenant.issue("forms:read")
    key_id = id_of_key(key)
    assert api.get("/api/forms", key).status == 200
    answer = api.delete(f"/api/keys/{key_id}", tenant.key)
    assert (answer.status, answer.json()) == (200, success({"id": key_id, "deleted": True}))
    refused = [api.get("/api/forms", key) for _ in range(5)]  # from any process
    refused.append(api.post("/api/submit", key, json={"message": "Hello"}))
    assert [(one.status, one.json()) for one in refused] == [(401, INVALID_ACCESS_KEY)] * 6
    shown = api.get(f"/api/keys/{key_id}", tenant.key).json()
    assert shown == success(record("Test", permissions=["forms:read"], lastUsedAt=TIME, revokedAt=TIME))


def test_revoke__a_second_time__is_fine_and_changes_nothing(tenant: Tenant, api: Client) -> None:
    key_id = id_of_key(tenant.issue())
    first = api.delete(f"/api/keys/{key_id}", tenant.key).json()
    shown = api.get(f"/api/keys/{key_id}", tenant.key).json()
    second = api.delete(f"/api/keys/{key_id}", tenant.key)
    assert (second.status, second.json()) == (200, first)
    assert api.get(f"/api/keys/{key_id}", tenant.key).json() == shown


def test_revoke__the_key_that_asks__is_its_last_request(tenant: Tenant, api: Client) -> None:
    assert api.delete(f"/api/keys/{id_of_key(tenant.key)}", tenant.key).status == 200
    assert api.get("/api/keys", tenant.key).json() == INVALID_ACCESS_KEY


def test_revoke__key_without_the_flag__may_end_itself_alone(tenant: Tenant, api: Client) -> None:
    key, other = tenant.issue(), tenant.issue()
    own = f"/api/keys/{id_of_key(key)}"
    refused = [api.delete(f"/api/keys/{id_of_key(other)}", key), api.get(own, key), api.post(f"{own}/regenerate", key)]
    page = api.delete(f"/api/keys/{id_of_key(tenant.publishable)}", tenant.publishable)
    assert [(one.status, one.json()) for one in [*refused, page]] == [(403, FORBIDDEN)] * 4
    answer = api.delete(own, key)
    assert (answer.status, answer.json()) == (200, success({"id": id_of_key(key), "deleted": True}))
    assert api.get("/api/me", key).json() == INVALID_ACCESS_KEY
    assert api.get("/api/me", other).status == 200


def test_revoke__test_key__may_end_itself(tenant: Tenant, api: Client) -> None:
    key, other = tenant.issue(mode="test"), tenant.issue(mode="test")
    assert api.delete(f"/api/keys/{id_of_key(other)}", key).json() == UNAUTHORIZED
    assert api.delete(f"/api/keys/{id_of_key(key)}", key).status == 200
    assert api.get("/api/me", key).json() == INVALID_ACCESS_KEY


def test_regenerate__key_in_use__replaces_its_secret_at_once_on_the_same_record(tenant: Tenant, api: Client) -> None:
    old = tenant.issue("forms:read")
    before = record("Test", id=id_of_key(old), permissions=["forms:read"])
    answer = api.post(f"/api/keys/{id_of_key(old)}/regenerate", tenant.key)
    assert (answer.status, answer.json()) == (200, success({**before, "key": SECRET}))
    data = answer.json()["data"]
    assert data["key"] != old
    assert data["hint"] == f"fp_…{data['key'][-4:]}"
    refused = [api.get("/api/forms", old) for _ in range(5)]
    assert [(one.status, one.json()) for one in refused] == [(401, INVALID_ACCESS_KEY)] * 5
    assert api.get("/api/forms", data["key"]).status == 200


def test_regenerate__publishable_key__stays_publishable(tenant: Tenant, api: Client) -> None:
    answer = api.post(f"/api/keys/{id_of_key(tenant.publishable)}/regenerate", tenant.key)
    expected = record(Like(".+"), kind="publishable", permissions=[], key=PUBLISHABLE)
    assert (answer.status, answer.json()) == (200, success(expected))
    assert api.post("/api/submit", tenant.publishable, json={"message": "Hello"}).json() == INVALID_ACCESS_KEY
    assert api.post("/api/submit", answer.json()["data"]["key"], json={"message": "Hello"}).status == 201


def test_regenerate__the_key_that_asks__goes_on_with_its_new_secret(tenant: Tenant, api: Client) -> None:
    answer = api.post(f"/api/keys/{id_of_key(tenant.key)}/regenerate", tenant.key)
    assert answer.status == 200
    assert api.get("/api/keys", tenant.key).json() == INVALID_ACCESS_KEY
    assert api.get("/api/keys", answer.json()["data"]["key"]).status == 200


@pytest.mark.parametrize("state", ["revoked", "expired"])
def test_regenerate__key_that_ended__is_a_conflict_and_the_key_stays_ended(
    state: str, tenant: Tenant, api: Client
) -> None:
    key = tenant.issue("forms:read")
    if state == "expired":
        expire(key)
    else:
        api.delete(f"/api/keys/{id_of_key(key)}", tenant.key)
    shown = api.get(f"/api/keys/{id_of_key(key)}", tenant.key).json()
    answer = api.post(f"/api/keys/{id_of_key(key)}/regenerate", tenant.key)
    assert (answer.status, answer.json()) == (409, failure("conflict"))
    assert api.get(f"/api/keys/{id_of_key(key)}", tenant.key).json() == shown
    assert api.get("/api/forms", key).json() == INVALID_ACCESS_KEY


@pytest.mark.parametrize("plan", [Plan.FREE, Plan.PRO])
@pytest.mark.parametrize("body", [b'{"name": "Made", "permissions": ["forms:read"]}', b'{"name": 5}', b"{"])
def test_create__plan_without_scoped_keys__names_the_plan_before_it_looks_at_the_body(
    plan: Plan, body: bytes, api: Client
) -> None:
    tenant = make_tenant(plan)
    answer = api.post("/api/keys", tenant.key, data=body, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.json()) == (403, failure("plan_required", Like(".*Enterprise.*")))


@pytest.mark.parametrize("plan", [Plan.FREE, Plan.PRO])
def test_plan_without_scoped_keys__listing_reading_regenerating_and_revoking__never_need_it(
    plan: Plan, api: Client
) -> None:
    tenant = make_tenant(plan)
    path = f"/api/keys/{id_of_key(tenant.issue('forms:read'))}"
    assert api.get("/api/keys", tenant.key).status == 200
    assert api.get(path, tenant.key).status == 200
    assert api.post(f"{path}/regenerate", tenant.key).status == 200
    assert api.delete(path, tenant.key).status == 200


def test_scoped_key__after_a_downgrade__keeps_working_within_its_list(tenant: Tenant, api: Client) -> None:
    made = api.post("/api/keys", tenant.key, json={"name": "Scoped", "permissions": ["forms:read"]}).json()["data"]
    set_plan(tenant.organization, Plan.FREE, by=None)
    assert api.get("/api/forms", made["key"]).status == 200
    assert api.get("/api/webhooks", made["key"]).json() == FORBIDDEN
    assert api.post("/api/keys", tenant.key, json={"name": "More"}).json()["error"] == "plan_required"


@pytest.mark.parametrize(("method", "path"), [("GET", "/api/forms"), ("POST", "/api/submit")])
def test_last_used_at__after_a_request__tells_when(method: str, path: str, tenant: Tenant, api: Client) -> None:
    key = tenant.issue("forms:read")
    start = now()
    options: dict[str, Any] = {"json": {"message": "Hello"}} if method == "POST" else {}
    api.request(method, path, key, **options)
    shown = api.get(f"/api/keys/{id_of_key(key)}", tenant.key).json()
    assert shown == success(record("Test", permissions=["forms:read"], lastUsedAt=TIME))
    assert start <= dt.datetime.fromisoformat(shown["data"]["lastUsedAt"]) <= now()


@pytest.mark.parametrize("path", ["/api/forms", "/api/submit"])
@pytest.mark.parametrize(("minutes", "written"), [(9, False), (11, True)])
def test_last_used_at__used_again__is_written_at_most_every_ten_minutes(
    minutes: int, written: bool, path: str, tenant: Tenant, api: Client
) -> None:
    key = tenant.issue("forms:write")
    earlier = now() - dt.timedelta(minutes=minutes)
    AccessKey.objects.filter(pk=key_of(key).pk).update(last_used_at=earlier)
    assert api.post(path, key, json={"name": "Made"}).status == 201
    assert (key_of(key).last_used_at != earlier) is written


def test_secret_key__in_the_database__is_its_sha256_alone(tenant: Tenant, api: Client) -> None:
    key = api.post("/api/keys", tenant.key, json={"name": "Made"}).json()["data"]["key"]
    row = AccessKey.objects.filter(pk=key_of(key).pk).values().get()
    assert key[3:-4] not in str(row)
    page = AccessKey.objects.filter(pk=key_of(tenant.publishable).pk).values().get()
    assert page["publishable_token"] == tenant.publishable


def test_key__made_twice_with_one_name__are_two_keys(tenant: Tenant, api: Client) -> None:
    first, second = (api.post("/api/keys", tenant.key, json={"name": "Made"}).json()["data"] for _ in range(2))
    assert first["id"] != second["id"]
    assert [api.get("/api/forms", one["key"]).status for one in (first, second)] == [200, 200]
