"""Hourly limits: the organization or address that a request counts against, and the headers."""

import itertools
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from config.api.ratelimit import HOUR
from config.base.ids import encode_id, new_id
from keys.organizations import set_plan
from keys.plans import Plan
from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.support.key_records import expire
from tests.support.rate_windows import OVER, counted_tenant, lasting_client, over, remaining, reset
from tests.support.replies import FORBIDDEN, INVALID_ACCESS_KEY, assert_headers
from tests.support.tenants import Tenant, make_tenant

FREE = 100
SOME_BODY = {"message": "Hello"}
PREFLIGHT = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}


@pytest.fixture
def stranger(service: Application) -> Iterator[Client]:
    """Yield a client that has sent one request without a key: 99 are left for its address."""
    with lasting_client(service.port) as client:
        yield client


def left_of(tenant: Tenant, api: Client) -> int:
    """Return the rest of the organization's hour, after this request."""
    return remaining(api.get("/api/forms", tenant.key))


def test_free_plan__one_request_more_than_a_hundred__is_refused_until_the_window_ends(api: Client) -> None:
    tenant = counted_tenant(api, Plan.FREE)  # one is spent
    answers = [api.get("/api/forms", tenant.key) for _ in range(FREE - 1)]
    assert [one.status for one in answers] == [200] * (FREE - 1)
    assert [remaining(one) for one in answers] == list(range(FREE - 2, -1, -1))
    assert {one.headers["X-RateLimit-Limit"] for one in answers} == {str(FREE)}
    for refused in (api.get("/api/forms", tenant.key), api.post("/api/submit", tenant.key, json=SOME_BODY)):
        assert over(refused, FREE) == OVER
    assert not Submission.objects.filter(organization=tenant.organization).exists()
    # The limit is looked at before the permission.
    assert over(api.get("/api/forms", tenant.issue()), FREE) == OVER


@pytest.mark.parametrize(
    ("plan", "rate_limit", "limit"),
    [
        (Plan.FREE, None, 100),
        (Plan.PRO, None, 10_000),
        (Plan.ENTERPRISE, None, 100_000),
        (Plan.ENTERPRISE, 250, 250),
        (Plan.ENTERPRISE, 1_000_000, 1_000_000),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/api/forms"), ("POST", "/api/submit")])
def test_plan__first_request__tells_its_limit(
    method: str, path: str, plan: Plan, rate_limit: int | None, limit: int, api: Client
) -> None:
    tenant = make_tenant()
    set_plan(tenant.organization, plan, by=None, rate_limit=rate_limit)
    options: dict[str, Any] = {"json": SOME_BODY} if method == "POST" else {}
    answer = api.request(method, path, tenant.key, **options)
    assert_headers(answer, limit)
    assert remaining(answer) == limit - 1


def test_plan__changed__holds_from_the_next_request(api: Client) -> None:
    tenant = counted_tenant(api, rate_limit=1)
    assert over(api.get("/api/forms", tenant.key), 1) == OVER
    set_plan(tenant.organization, Plan.PRO, by=None)
    answer = api.get("/api/forms", tenant.key)
    assert answer.status == 200
    assert_headers(answer, 10_000)


def test_reset__within_one_window__is_the_same_second_of_the_coming_hour(api: Client) -> None:
    tenant = counted_tenant(api)
    start = time.time()
    ends = {reset(api.get("/api/forms", tenant.key)) for _ in range(20)}
    ends.add(reset(api.post("/api/submit", tenant.publishable, json=SOME_BODY)))
    assert len(ends) == 1
    assert start < ends.pop() <= time.time() + HOUR


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        ("GET", "/api/forms", {}, 200),
        ("POST", "/api/submit", {"json": SOME_BODY}, 201),
        ("GET", "/api/keys", {}, 403),
        ("GET", f"/api/forms/{encode_id('frm', new_id())}", {}, 404),
        ("GET", "/api/nothing", {}, 404),
        ("GET", "/api/forms?nothing=1", {}, 400),
        ("POST", "/api/forms", {"json": {}}, 400),
        ("POST", "/api/forms", {"data": "{", "headers": {"Content-Type": "application/json"}}, 400),
        ("POST", "/api/forms", {"data": "name=Made"}, 415),
        ("POST", "/api/forms", {"json": {"name": "x" * 300_000}}, 413),
        ("PUT", "/api/forms", {}, 405),
        ("POST", "/api/submit", {"json": {}}, 400),
        ("POST", "/api/submit", {"data": "{", "headers": {"Content-Type": "application/json"}}, 400),
        ("POST", "/api/submit", {"data": "message=Hello"}, 415),
        ("POST", f"/api/submit?formId={encode_id('frm', new_id())}", {"json": SOME_BODY}, 404),
        ("GET", "/api/submit", {}, 405),
    ],
)
def test_request_with_a_valid_key__whatever_its_answer__counts_once(
    method: str, path: str, options: dict[str, Any], status: int, api: Client
) -> None:
    tenant = counted_tenant(api)
    key = tenant.issue("forms:read", "forms:write")
    before = left_of(tenant, api)
    with Client(api.port) as other:  # the server may end the connection of a body that it would not read
        assert other.request(method, path, key, **options).status == status
    assert left_of(tenant, api) == before - 2


def test_keys__of_one_organization__share_its_hour(api: Client) -> None:
    tenant = counted_tenant(api, rate_limit=10)
    asked = [
        api.get("/api/forms", tenant.key),
        api.get("/api/forms", tenant.issue("forms:read")),
        api.post("/api/submit", tenant.issue(), json=SOME_BODY),
        api.post("/api/submit", tenant.publishable, json=SOME_BODY),
    ]
    assert [remaining(one) for one in asked] == [8, 7, 6, 4]  # a page sees its own room: nine less five


def test_organizations__one_at_its_limit__leaves_the_other_its_own_hour(api: Client) -> None:
    used_up, other = counted_tenant(api, rate_limit=1), counted_tenant(api, rate_limit=10)
    assert over(api.get("/api/forms", used_up.key), 1) == OVER
    assert left_of(other, api) == 8


def test_address__hundred_requests_without_a_valid_key__is_refused_the_next(stranger: Client, api: Client) -> None:
    tenant = counted_tenant(api)
    before = left_of(tenant, api)
    answers = [stranger.get("/api/forms", tenant.key + "x") for _ in range(FREE - 1)]
    assert {(one.status, one.text) for one in answers} == {(401, answers[0].text)}
    assert answers[0].json() == INVALID_ACCESS_KEY
    assert [remaining(one) for one in answers] == list(range(FREE - 2, -1, -1))
    for refused in (stranger.get("/api/forms"), stranger.post("/api/submit", json=SOME_BODY)):
        assert over(refused, FREE) == OVER
    # Requests with a key still pass from there, and the organization's hour is unchanged.
    assert stranger.get("/api/forms", tenant.key).status == 200
    assert left_of(tenant, api) == before - 2


@pytest.mark.parametrize("kind", ["missing", "misspelt", "revoked or expired", "publishable"])
def test_request_without_a_key_for_it__counts_against_the_address_alone(
    kind: str, stranger: Client, api: Client
) -> None:
    tenant = counted_tenant(api)
    ended = tenant.issue("forms:read")
    expire(ended)
    key = {"missing": None, "misspelt": tenant.key[:-1] + "?", "publishable": tenant.publishable}.get(kind, ended)
    before = left_of(tenant, api)
    answers = [stranger.get("/api/forms", key) for _ in range(3)]
    expected = (403, FORBIDDEN) if kind == "publishable" else (401, INVALID_ACCESS_KEY)
    assert [(one.status, one.json()) for one in answers] == [expected] * 3
    assert [remaining(one) for one in answers] == [FREE - 2, FREE - 3, FREE - 4]
    assert left_of(tenant, api) == before - 1


def test_submit_without_a_valid_key__counts_against_the_same_hundred_of_the_address(stranger: Client) -> None:
    answers = [stranger.post("/api/submit", "fp_nonsense", json=SOME_BODY), stranger.get("/api/keys")]
    assert [(one.status, remaining(one)) for one in answers] == [(401, FREE - 2), (401, FREE - 3)]


def test_refused_origin__of_a_browser__counts_against_the_address_alone(stranger: Client, api: Client) -> None:
    tenant = counted_tenant(api)
    form_id = tenant.form(allowed_origins=["https://page.example"])
    before = left_of(tenant, api)
    for key in (tenant.publishable, tenant.key):
        answer = stranger.post(
            f"/api/submit?formId={form_id}", key, json=SOME_BODY, headers={"Origin": "https://evil.example"}
        )
        assert (answer.status, answer.json()["error"]) == (403, "origin_not_allowed")
        assert_headers(answer, FREE)
    assert remaining(stranger.get("/api/forms")) == FREE - 4
    assert left_of(tenant, api) == before - 1


def test_preflight__of_a_browser__counts_nowhere(stranger: Client, api: Client) -> None:
    tenant = counted_tenant(api)
    before = left_of(tenant, api)
    for key in [None, tenant.publishable] * 3:
        assert stranger.options("/api/submit", key, headers=PREFLIGHT).status in (200, 204)
    assert remaining(stranger.get("/api/forms")) == FREE - 2
    assert left_of(tenant, api) == before - 1


def unheard_of() -> str:
    """Return an address in a /64 network, the unit that is counted, that no earlier run has used."""
    return "2001:db8:" + ":".join(secrets.token_hex(2) for _ in range(2)) + "::1"


def test_forwarded_address__without_a_trusted_proxy__is_not_believed(stranger: Client) -> None:
    claims = [unheard_of(), unheard_of(), f"{unheard_of()}, {unheard_of()}"]
    answers = [stranger.get("/api/forms", headers={"X-Forwarded-For": claim}) for claim in claims]
    assert [remaining(one) for one in answers] == [FREE - 2, FREE - 3, FREE - 4]


def test_forwarded_address__behind_one_trusted_proxy__is_the_one_that_the_proxy_saw(
    start_service: Callable[..., Application],
) -> None:
    port = start_service(TRUSTED_PROXY_COUNT="1").port
    address = unheard_of()
    with lasting_client(port, headers={"X-Forwarded-For": address}) as proxy:
        numbers = itertools.count(FREE - 2, -1)
        for claim in (address, f"{unheard_of()}, {address}", f"{unheard_of()}, nonsense, {address}"):
            assert remaining(proxy.get("/api/forms", headers={"X-Forwarded-For": claim})) == next(numbers)
        spelt_otherwise = {"X-Forwarded-For": address, "X_Forwarded_For": unheard_of()}
        assert remaining(proxy.get("/api/forms", headers=spelt_otherwise)) == next(numbers)
        elsewhere = proxy.get("/api/forms", headers={"X-Forwarded-For": f"{address}, {unheard_of()}"})
        assert remaining(elsewhere) == FREE - 1
        assert remaining(proxy.get("/api/forms")) == FREE - 1  # no header: the address of the socket
