"""Pages of any origin may submit and read every answer; no other path answers CORS (docs/contract.md 5.23)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from config.base.ids import Prefix
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.outage import service_without_database
from tests.support.replies import unknown_id
from tests.support.submitting import JSON, submit_raw
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.on_sqlite  # about headers, not rows

ORIGIN = {"Origin": "https://shop.example.com"}
EXPOSED = {
    *("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after", "x-request-id"),
    "idempotent-replayed",
}


def assert_open(answer: Answer) -> None:
    exposed = answer.headers["Access-Control-Expose-Headers"].lower().replace(" ", "").split(",")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert set(exposed) == EXPOSED
    assert "Access-Control-Allow-Credentials" not in answer.headers


def preflight(api: Client, path: str = "/api/submit", asked: str | None = None) -> Answer:
    headers = ORIGIN | {"Access-Control-Request-Method": "POST"}
    return api.options(path, headers=headers | ({"Access-Control-Request-Headers": asked} if asked else {}))


@pytest.mark.parametrize(
    "asked", ["content-type", "x-access-key,content-type,idempotency-key", "X-Access-Key, X-Anything_else.1"]
)
def test_preflight__asked_headers__are_echoed_without_a_key(api: Client, asked: str) -> None:
    answer = preflight(api, "/api/submit?formId=frm_1", asked)

    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["Access-Control-Allow-Headers"] == asked
    assert "POST" in answer.headers["Access-Control-Allow-Methods"].replace(" ", "").split(",")
    assert int(answer.headers["Access-Control-Max-Age"]) > 0
    assert_open(answer)


def test_preflight__without_asked_headers__names_none(api: Client) -> None:
    answer = preflight(api)

    assert (answer.status, "Access-Control-Allow-Headers" in answer.headers) == (204, False)


def test_preflight__a_hundred_and_twenty__count_against_nobody(api: Client) -> None:
    tenant = make_tenant()

    assert {preflight(api, asked="x-access-key").status for _ in range(120)} == {204}

    anonymous = api.post("/api/submit", json={"a": "1"})
    keyed = api.post("/api/submit", tenant.publishable, json={"a": "1"}, headers=ORIGIN)
    assert (anonymous.status, anonymous.headers["X-RateLimit-Remaining"]) == (401, "99")
    limit, left = (int(keyed.headers[f"X-RateLimit-{name}"]) for name in ("Limit", "Remaining"))
    assert (keyed.status, limit - left) == (201, limit // 10)  # the room for pages, in tenths
    assert "X-RateLimit-Limit" not in preflight(api).headers


@pytest.mark.parametrize("headers", [{}, ORIGIN], ids=["no origin", "origin"])
def test_submit__success__is_readable_by_any_page(api: Client, headers: dict[str, str]) -> None:
    tenant = make_tenant()

    answer = api.post("/api/submit", tenant.publishable, json={"a": "1"}, headers=headers)

    assert answer.status == 201
    assert_open(answer)
    assert {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "x-request-id"} <= {
        name.lower() for name in answer.headers
    }


def conflicting(api: Client, tenant: Tenant, form_id: str) -> Answer:
    submit_raw(api, tenant, form_id, b'{"a": 1}', Idempotency_Key="k")
    return submit_raw(api, tenant, form_id, b'{"a": 2}', Idempotency_Key="k", **ORIGIN)


def too_many(api: Client, tenant: Tenant, form_id: str) -> Answer:
    answers = [submit_raw(api, tenant, form_id, b'{"a": 1}', **ORIGIN) for _ in range(21)]
    return next((answer for answer in answers if answer.status != 201), answers[-1])


REFUSALS: dict[int, Callable[[Client, Tenant, str], Answer]] = {
    400: lambda api, tenant, form_id: submit_raw(api, tenant, form_id, b"{", **ORIGIN),
    401: lambda api, tenant, form_id: api.post("/api/submit", json={"a": "1"}, headers=ORIGIN),
    403: lambda api, tenant, form_id: submit_raw(api, make_tenant(), form_id, b'{"a": 1}', **ORIGIN),
    404: lambda api, tenant, form_id: submit_raw(api, tenant, unknown_id(Prefix.FORM), b'{"a": 1}', **ORIGIN),
    405: lambda api, tenant, form_id: api.get("/api/submit", tenant.key, headers=ORIGIN),
    409: conflicting,
    413: lambda api, tenant, form_id: submit_raw(api, tenant, form_id, b'{"a": "' + b"v" * 2**19 + b'"}', **ORIGIN),
    415: lambda api, tenant, form_id: api.post("/api/submit", tenant.key, data="a=1", headers=ORIGIN),
    429: too_many,
}


@pytest.mark.parametrize("status", REFUSALS)
def test_submit__refused__is_readable_by_any_page(api: Client, status: int) -> None:
    tenant = make_tenant()

    answer = REFUSALS[status](api, tenant, tenant.form())

    assert answer.status == status, answer.text
    assert_open(answer)


def test_submit__without_a_database__is_readable_by_any_page(service: Application, tmp_path: Path) -> None:
    tenant = make_tenant()

    with service_without_database(service, tmp_path) as away, Client(away.port) as client:
        answer = client.post("/api/submit", tenant.publishable, json={"a": "1"}, headers=ORIGIN)

    assert answer.status == 503
    assert_open(answer)


@pytest.mark.parametrize(
    "path", ["/api/forms", "/api/submissions", "/api/keys", "/api/submit/", "/api/submitted", "/healthz"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_other_path__from_a_page__answers_no_cors(api: Client, path: str, method: str) -> None:
    tenant = make_tenant()
    asking = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-access-key"}

    answer = api.request(method, path, tenant.key, headers=JSON | ORIGIN | (asking if method == "OPTIONS" else {}))

    assert not [name for name in answer.headers if name.lower().startswith("access-control")]
