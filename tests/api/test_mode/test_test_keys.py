"""Keys of test mode: what they are called, and what they may do (docs/contract.md 12)."""

import pytest

from config.base.ids import Prefix, decode_id
from submissions.models import StoredFile, Submission
from tests.services.client import Client
from tests.support.files.rows import Sent, put_with_files
from tests.support.key_records import key_of, record
from tests.support.posted_files import file_field
from tests.support.replies import ALL_SIX, TIME, UNAUTHORIZED, Like, failure
from tests.support.submitting import submit, submit_and_get_id
from tests.support.tables.callers import House, furnish
from tests.support.tables.permission_table import TABLE, Endpoint
from tests.support.tenants import Tenant, make_tenant

ALLOWED = {
    "GET /api/forms",
    "GET /api/forms/{id}",
    "GET /api/forms/by-key/{key}",
    "GET /api/submissions",
    "GET /api/submissions/{id}",
    "PATCH /api/submissions/{id}",
    "DELETE /api/submissions/{id}",
    "GET /api/submissions/{id}/deliveries",
    "GET /api/submissions/export",
    "POST /api/submissions/bulk",
    "POST /api/submit",
    "POST /api/uploads",
    "GET /api/me",
}


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def house_of_tests() -> tuple[House, str]:
    """Return an organization whose submission is of test mode, and a test key with every permission."""
    house = furnish(make_tenant())
    pk = decode_id(Prefix.SUBMISSION, house.ids["submissions"])
    Submission.objects.filter(pk=pk).update(counted_as=Submission.CountedAs.TEST)
    return house, house.tenant.issue(*ALL_SIX, mode="test")


@pytest.mark.parametrize("endpoint", TABLE, ids=str)
def test_test_key__with_every_permission__has_its_own_endpoints_alone(endpoint: Endpoint, api: Client) -> None:
    house, key = house_of_tests()

    answer = house.send(api, endpoint, key)

    if str(endpoint) in ALLOWED:
        assert answer.status == endpoint.status, answer.text
    else:
        assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
        assert "X-Required-Permission" not in answer.headers


@pytest.mark.parametrize("endpoint", [one for one in TABLE if str(one) in ALLOWED], ids=str)
def test_test_key__without_permissions__only_submits_uploads_and_asks_whose_it_is(
    endpoint: Endpoint, api: Client
) -> None:
    house, _ = house_of_tests()
    answer = house.send(api, endpoint, house.tenant.issue(mode="test"))
    free = ("POST /api/submit", "POST /api/uploads", "GET /api/me")
    assert answer.status == (endpoint.status if str(endpoint) in free else 403)


@pytest.mark.parametrize(("counted_as", "status"), [("kept", 403), ("test", 200)])
def test_file__of_a_submission__is_read_by_a_test_key_of_its_mode(
    counted_as: str, status: int, tenant: Tenant, api: Client
) -> None:
    put_with_files(tenant, tenant.form(fields=[file_field("cv")]), [Sent("cv.pdf")], counted_as=counted_as)
    stored = StoredFile.objects.get(organization_id=tenant.organization.pk)
    answers = [api.get(f"/files/{stored.public_id}", key) for key in (tenant.issue(*ALL_SIX, mode="test"), tenant.key)]
    assert [one.status for one in answers] == [status, 200]


def test_publishable_test_key__anywhere_but_submit__is_forbidden(tenant: Tenant, api: Client) -> None:
    answer = api.get("/api/submissions", tenant.test_publishable)
    assert (answer.status, answer.json()) == (403, failure("forbidden", "Forbidden"))


def test_key__made_for_tests__says_so_everywhere(tenant: Tenant, api: Client) -> None:
    secret = api.post("/api/keys", tenant.key, json={"name": "CI", "mode": "test"}).json()["data"]
    page = api.post("/api/keys", tenant.key, json={"name": "CI", "mode": "test", "kind": "publishable"}).json()["data"]

    assert secret == record("CI", mode="test", key=Like(r"fp_test_[0-9A-Za-z]{46}"))
    assert page == record(
        "CI", mode="test", kind="publishable", permissions=[], key=Like(r"fp_pub_test_[0-9A-Za-z]{46}")
    )
    own = record("CI", mode="test", hint=f"fp_test_…{secret['key'][-4:]}", lastUsedAt=TIME)
    assert api.get("/api/me", secret["key"]).json()["data"]["key"] == own
    again = api.post(f"/api/keys/{secret['id']}/regenerate", tenant.key).json()["data"]
    assert again["key"] == Like(r"fp_test_[0-9A-Za-z]{46}")


def test_list__by_mode__has_the_keys_of_that_mode(tenant: Tenant, api: Client) -> None:
    made = {mode: key_of(tenant.issue(mode=mode)).public_id for mode in ("live", "test")}
    for mode, other in (("live", "test"), ("test", "live")):
        listed = {key["id"]: key["mode"] for key in api.get(f"/api/keys?mode={mode}", tenant.key).json()["data"]}
        assert set(listed.values()) == {mode}
        assert made[mode] in listed
        assert made[other] not in listed
    assert api.get("/api/keys?mode=both", tenant.key).status == 400


@pytest.mark.parametrize("mode", ["TEST", "", None, True, ["test"]])
def test_mode__of_another_form__is_refused(mode: object, tenant: Tenant, api: Client) -> None:
    assert api.post("/api/keys", tenant.key, json={"name": "CI", "mode": mode}).status == 400


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/submissions/{id}", None),
        ("PATCH", "/api/submissions/{id}", {"spam": True}),
        ("DELETE", "/api/submissions/{id}", None),
        ("POST", "/api/submissions/bulk", {"ids": ["{id}", "{test}"], "action": "delete"}),
        ("GET", "/api/submissions?test=false", None),
        ("GET", "/api/submissions?test=false&cursor=", None),
        ("GET", "/api/submissions/export?test=false", None),
    ],
)
def test_live_submission__with_a_test_key__is_403_and_stays(
    method: str, path: str, body: dict[str, object] | None, tenant: Tenant, api: Client
) -> None:
    key, live = tenant.issue(*ALL_SIX, mode="test"), submit_and_get_id(api, tenant)
    test = submit(api, key).json()["data"]["id"]
    before = api.get(f"/api/submissions/{live}", tenant.key).json()["data"]
    if body and "ids" in body:
        body = {**body, "ids": [live, test]}

    answer = (
        api.request(method, path.replace("{id}", live), key, json=body)
        if body
        else api.request(method, path.replace("{id}", live), key)
    )

    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    assert api.get(f"/api/submissions/{live}", tenant.key).json()["data"] == before
    assert api.get(f"/api/submissions/{test}", tenant.key).status == 200


def test_bulk__idempotency_key_of_the_other_mode__answers_for_its_own_mode(tenant: Tenant, api: Client) -> None:
    key, live = tenant.issue(*ALL_SIX, mode="test"), submit_and_get_id(api, tenant)
    body, headers = {"ids": [live], "action": "spam"}, {"Idempotency-Key": "once"}
    assert api.post("/api/submissions/bulk", tenant.key, json=body, headers=headers).status == 200

    answer = api.post("/api/submissions/bulk", key, json=body, headers=headers)

    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    assert "Idempotent-Replayed" not in answer.headers


@pytest.mark.parametrize("path", ["/api/me", "/api/forms", "/api/submissions"])
def test_head__with_a_test_key__is_as_get(path: str, tenant: Tenant, api: Client) -> None:
    key = tenant.issue(*ALL_SIX, mode="test")
    assert (api.request("HEAD", path, key).status, api.get(path, key).status) == (200, 200)
