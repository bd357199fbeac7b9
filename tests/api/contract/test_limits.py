"""Limits of the plans, their headers, and pages (docs/contract.md 2, 1.10 and 1.14)."""

import pytest

from keys.organizations import set_plan
from keys.plans import Plan
from tests.services.client import Client
from tests.support.rows import put
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.quick

HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.mark.parametrize(("plan", "limit"), [(Plan.FREE, 100), (Plan.PRO, 10_000)])
def test_plan__sets_requests_per_hour(api: Client, plan: Plan, limit: int) -> None:
    answer = api.get("/api/forms", make_tenant(plan).key)
    assert [answer.headers[name] for name in HEADERS[:2]] == [str(limit), str(limit - 1)]


def test_enterprise__is_custom(api: Client, tenant: Tenant) -> None:
    set_plan(tenant.organization, Plan.ENTERPRISE, by=None, rate_limit=7)
    answers = [api.get("/api/forms", tenant.key) for _ in range(8)]
    assert [answer.status for answer in answers] == [200] * 7 + [429]
    assert answers[0].headers["X-RateLimit-Limit"] == "7"


@pytest.mark.parametrize("path", ["/api/forms", "/api/submissions", "/api/nothing", "/api/keys/1"])
def test_every_response__carries_three_integers(api: Client, tenant: Tenant, path: str) -> None:
    for key in (tenant.key, tenant.issue(), None):
        answer = api.get(path, key)
        if path == "/api/nothing" and key is None:
            continue  # no path that needs a key
        assert all(answer.headers[name].isdigit() for name in HEADERS), answer.headers


def test_over_the_limit__429(api: Client, tenant: Tenant) -> None:
    set_plan(tenant.organization, Plan.ENTERPRISE, by=None, rate_limit=1)
    assert api.post("/api/submit", tenant.key, json={"n": "1"}).status == 201
    answer = api.post("/api/submit", tenant.key, json={"n": "2"})
    assert (answer.status, answer.json()["error"]) == (429, "rate_limited")
    assert answer.headers["X-RateLimit-Remaining"] == "0"


@pytest.mark.parametrize("path", ["/api/forms", "/api/submissions", "/api/webhooks", "/api/keys"])
def test_list__takes_page_and_limit(api: Client, tenant: Tenant, path: str) -> None:
    body = api.get(f"{path}?page=2&limit=1", tenant.key).json()
    assert body["pagination"].keys() == {"page", "limit", "total", "pages"}
    assert (body["pagination"]["page"], body["pagination"]["limit"]) == (2, 1)


def test_total_and_pages__count_everything(api: Client, tenant: Tenant) -> None:
    for number in range(5):
        put(tenant, tenant.default_form_id, {"n": str(number)})
    body = api.get("/api/submissions?page=3&limit=2", tenant.key).json()
    assert body["pagination"] == {"page": 3, "limit": 2, "total": 5, "pages": 3}
    assert [one["data"]["n"] for one in body["data"]] == ["0"]
