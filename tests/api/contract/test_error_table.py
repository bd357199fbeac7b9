"""Every row of the error table (docs/contract.md 1.15) provoked over HTTP: status, whole body, headers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from config.base.ids import Prefix, decode_id
from forms_app.models import Form
from keys.models import AccessKey, Organization
from keys.plans import Plan
from keys.tokens import digest
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.outage import service_without_database
from tests.support.rate_windows import lasting_client
from tests.support.replies import (
    FORBIDDEN,
    INVALID_ACCESS_KEY,
    NOT_FOUND,
    REQUEST_ID,
    SECONDS,
    UNAUTHORIZED,
    failure,
    invalid,
    unknown_id,
)
from tests.support.submitting import submit, submit_raw
from tests.support.tenants import Tenant, make_tenant

JSON = {"Content-Type": "application/json"}
LIMIT_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
NAME = {"name": "Contact"}
GZIPPED = {"Content-Encoding": "GZip"}
COMPRESSED = failure("unsupported_media_type", "The body is compressed (Content-Encoding: gzip). Send it uncompressed.")


@dataclass
class Case:
    """A request that fails, and its error."""

    ask: Callable[[Client, Tenant], Answer]
    status: int
    body: Any


def conflicting(api: Client, tenant: Tenant) -> Answer:
    return api.delete(f"/api/forms/{tenant.default_form_id}", tenant.key)


def foreign(api: Client, tenant: Tenant) -> Answer:
    return api.get(f"/api/forms/{make_tenant().form()}", tenant.key)


def off_the_list(api: Client, tenant: Tenant) -> Answer:
    form_id = tenant.form(allowed_origins=["https://a.example"])
    return submit(api, tenant.publishable, form_id, Origin="https://b.example")


CASES = {
    "invalid_json": Case(
        lambda api, tenant: api.post("/api/forms", tenant.key, data=b'{"name": }', headers=JSON),
        400,
        failure("invalid_json", "The body is not JSON: Expecting value at line 1, column 10."),
    ),
    "invalid_json on submit": Case(
        lambda api, tenant: submit_raw(api, tenant, tenant.form(), b"[]"),
        400,
        failure("invalid_json", "The body must be one JSON object, not an array."),
    ),
    "validation_error of a field": Case(
        lambda api, tenant: api.post("/api/forms", tenant.key, json={}),
        400,
        invalid(("name", "required", "name: This field is required.")),
    ),
    "validation_error of a parameter": Case(
        lambda api, tenant: api.get("/api/forms?page=0", tenant.key),
        400,
        invalid(("page", "min_value", "page: Ensure this value is greater than or equal to 1.")),
    ),
    "validation_error of an id": Case(
        lambda api, tenant: api.get("/api/submissions/5", tenant.key),
        400,
        invalid(
            ("id", "invalid_id", "id: Expected an id that begins with sub_ and has 26 characters after it."),
        ),
    ),
    "empty_submission": Case(
        lambda api, tenant: submit(api, tenant.key, tenant.form(), {"_next": "/"}),
        400,
        failure(
            "empty_submission",
            "The submission has no values. Send at least one field besides the control fields.",
        ),
    ),
    "invalid_access_key": Case(lambda api, tenant: api.get("/api/forms"), 401, INVALID_ACCESS_KEY),
    "invalid_access_key on submit": Case(
        lambda api, tenant: api.post("/api/submit", tenant.key[:-1], json={"a": "1"}), 401, INVALID_ACCESS_KEY
    ),
    "forbidden to a publishable key": Case(
        lambda api, tenant: api.get("/api/forms", tenant.publishable), 403, FORBIDDEN
    ),
    "forbidden without any permission": Case(
        lambda api, tenant: api.get("/api/forms", tenant.issue("submissions:read")), 403, FORBIDDEN
    ),
    "forbidden without the flag": Case(
        lambda api, tenant: api.get("/api/keys", tenant.issue("forms:read")), 403, FORBIDDEN
    ),
    "unauthorized without the permission": Case(
        lambda api, tenant: api.post("/api/forms", tenant.issue("forms:read"), json=NAME), 403, UNAUTHORIZED
    ),
    "unauthorized for a foreign object": Case(foreign, 403, UNAUTHORIZED),
    "plan_required": Case(
        lambda api, tenant: api.post("/api/keys", make_tenant(Plan.PRO).key, json=NAME),
        403,
        failure("plan_required", "Creating keys through the API requires the Enterprise plan."),
    ),
    "form_not_published": Case(
        lambda api, tenant: submit(api, tenant.key, tenant.form(published=False)),
        403,
        failure("form_not_published", "This form does not take submissions now. Publish it first."),
    ),
    "origin_not_allowed": Case(
        off_the_list,
        403,
        failure(
            "origin_not_allowed",
            "This form does not take submissions from https://b.example.",
        ),
    ),
    "not_found object": Case(
        lambda api, tenant: api.get(f"/api/forms/{unknown_id(Prefix.FORM)}", tenant.key), 404, NOT_FOUND
    ),
    "not_found path": Case(lambda api, tenant: api.get("/api/nothing", tenant.key), 404, NOT_FOUND),
    "not_found with a slash": Case(lambda api, tenant: api.get("/api/forms/", tenant.key), 404, NOT_FOUND),
    "method_not_allowed": Case(
        lambda api, tenant: api.request("PUT", "/api/forms", tenant.key, json=NAME),
        405,
        failure("method_not_allowed", 'Method "PUT" not allowed.'),
    ),
    "method_not_allowed on submit": Case(
        lambda api, tenant: api.get("/api/submit", tenant.key),
        405,
        failure("method_not_allowed", "Submit with POST."),
    ),
    "conflict": Case(
        conflicting,
        409,
        failure("conflict", "The default form receives submissions without a form id, so it cannot be archived."),
    ),
    "payload_too_large": Case(
        lambda api, tenant: api.post("/api/forms", tenant.key, json={"name": "n" * 2**19}),
        413,
        failure("payload_too_large", "The body is larger than 256 KiB. Send less."),
    ),
    "unsupported_media_type": Case(
        lambda api, tenant: api.post("/api/forms", tenant.key, data="name=Contact"),
        415,
        failure("unsupported_media_type", "Send the body as JSON, with the header Content-Type: application/json."),
    ),
    "unsupported_media_type of a compressed body": Case(
        lambda api, tenant: api.post("/api/forms", tenant.key, data=b"\x1f\x8b", headers={**JSON, **GZIPPED}),
        415,
        COMPRESSED,
    ),
    "unsupported_media_type of a compressed submission": Case(
        lambda api, tenant: api.post("/api/submit", tenant.key, data=b"\x1f\x8b", headers={**JSON, **GZIPPED}),
        415,
        COMPRESSED,
    ),
}


def assert_headers(answer: Answer, **expected: Any) -> None:
    """Assert that an error has its request's id and the limit, and the special headers only where they belong."""
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Request-Id"] == REQUEST_ID
    assert answer.headers["Cache-Control"] == "no-store"
    limit, left, reset = (int(answer.headers[name]) for name in LIMIT_HEADERS)
    assert 0 <= left <= limit
    assert reset > 1_700_000_000
    for name in ("WWW-Authenticate", "Retry-After"):
        assert answer.headers.get(name) == expected.get(name.replace("-", "_")), name


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_error__of_the_table__is_answered_whole(api: Client, case: Case) -> None:
    answer = case.ask(api, make_tenant())

    assert (answer.status, answer.json()) == (case.status, case.body)
    assert_headers(answer, **({"WWW_Authenticate": "AccessKey"} if case.status == 401 else {}))


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/forms", {"GET", "POST", "HEAD"}),
        ("DELETE", "/api/submissions", {"GET", "HEAD"}),
        ("POST", "/api/forms/{form}", {"GET", "PATCH", "DELETE", "HEAD"}),
        ("GET", "/api/forms/{form}/publish", {"POST"}),
        ("PUT", "/api/submit", {"POST", "OPTIONS"}),
        ("POST", "/api/analytics", {"GET", "HEAD"}),
    ],
)
def test_method_not_allowed__names_the_methods_that_are(api: Client, method: str, path: str, allowed: set[str]) -> None:
    tenant = make_tenant()

    answer = api.request(method, path.format(form=tenant.form()), tenant.key)

    assert (answer.status, answer.json()["error"]) == (405, "method_not_allowed")
    named = set(answer.headers["Allow"].replace(" ", "").split(","))
    assert named - {"HEAD", "OPTIONS"} == allowed - {"HEAD", "OPTIONS"}


def limited(rate_limit: int) -> Tenant:
    """Return an organization with so few requests an hour."""
    tenant = make_tenant()
    Organization.objects.filter(pk=tenant.organization.pk).update(rate_limit=rate_limit)
    return tenant


@pytest.mark.parametrize("submits", [False, True], ids=["management", "submit"])
def test_rate_limited__over_the_hour__says_when_to_come_back(api: Client, submits: bool) -> None:
    tenant = limited(2)

    def ask() -> Answer:
        return api.post("/api/submit", tenant.key, json={"a": "1"}) if submits else api.get("/api/forms", tenant.key)

    first, second, over = ask(), ask(), ask()

    assert {first.status, second.status} == {201 if submits else 200}
    wait = over.headers["Retry-After"]
    message = f"The limit of 2 requests is used up. Try again in {wait} seconds."
    assert (over.status, over.json()) == (429, failure("rate_limited", message))
    assert wait == SECONDS
    assert int(wait) <= 3600
    assert [over.headers[name] for name in LIMIT_HEADERS[:2]] == ["2", "0"]
    assert_headers(over, Retry_After=wait)


def test_rate_limited__without_a_valid_key__is_the_address_with_the_free_limit(service: Application) -> None:
    with lasting_client(service.port) as api:  # has sent one
        statuses = [api.get("/api/forms", "fp_wrong").status for _ in range(99)]
        over = api.post("/api/submit", json={"a": "1"})
        valid = api.get("/api/forms", make_tenant().key)

    message = f"The limit of 100 requests is used up. Try again in {over.headers['Retry-After']} seconds."
    assert set(statuses) == {401}
    assert (over.status, over.json()) == (429, failure("rate_limited", message))
    assert valid.status == 200


def break_permissions(api: Client, tenant: Tenant) -> Answer:
    """Store permissions that no code writes: the code that reads them fails with an unexpected error."""
    AccessKey.objects.filter(digest=digest(tenant.key)).update(permissions=5)
    return api.get("/api/forms", tenant.key)


def break_form(api: Client, tenant: Tenant) -> Answer:
    form_id = tenant.form()
    Form.objects.filter(pk=decode_id(Prefix.FORM, form_id)).update(fields=[{}])
    return api.post(f"/api/submit?formId={form_id}", tenant.key, json={"a": "1"})


@pytest.mark.parametrize("ask", [break_permissions, break_form])
def test_internal_error__of_a_bug__tells_the_request_id_and_no_more(
    api: Client, ask: Callable[[Client, Tenant], Answer]
) -> None:
    answer = ask(api, make_tenant())

    request_id = answer.headers["X-Request-Id"]
    message = f"Internal server error. If it persists, report this request id: {request_id}."
    assert (answer.status, answer.json()) == (500, failure("internal_error", message))
    assert_headers(answer)


def test_internal_error__with_the_callers_own_request_id__tells_that(api: Client) -> None:
    tenant = make_tenant()
    AccessKey.objects.filter(digest=digest(tenant.key)).update(permissions=5)

    answer = api.get("/api/forms", tenant.key, headers={"X-Request-Id": "mine-1"})

    assert (answer.status, answer.headers["X-Request-Id"]) == (500, "mine-1")
    assert "mine-1" in answer.json()["message"]


UNAVAILABLE = failure(
    "service_unavailable",
    "The service is busy or restarting. Try again in a moment; an Idempotency-Key prevents storing it twice.",
)


def test_service_unavailable__database_away__says_when_to_come_back(service: Application, tmp_path: Path) -> None:
    tenant = make_tenant()
    with service_without_database(service, tmp_path) as away, Client(away.port) as client:
        submitted = client.post("/api/submit", tenant.key, json={"a": "1"})
        managed = client.get("/api/forms", tenant.key)
        created = client.post("/api/forms", tenant.key, json=NAME)
        ready = client.get("/readyz")
        unkeyed = client.get("/api/forms")

    for answer in (submitted, managed, created, ready):
        assert (answer.status, answer.json()) == (503, UNAVAILABLE)
        assert answer.headers["Retry-After"] == SECONDS
        assert answer.headers["X-Request-Id"] == REQUEST_ID
    assert (unkeyed.status, unkeyed.json()) == (401, INVALID_ACCESS_KEY)
    for answer in (submitted, managed, created):
        assert_headers(answer, Retry_After=submitted.headers["Retry-After"])


OUTSIDE: dict[str, tuple[str, str, dict[str, str], int]] = {
    "unknown path of the API": ("GET", "/api/nothing", {}, 404),
    "unknown host": ("GET", "/api/forms", {"Host": "unknown.example"}, 400),
    "unknown host of a page": ("GET", "/account/login/", {"Host": "unknown.example"}, 400),
}


@pytest.mark.on_sqlite
@pytest.mark.parametrize(("method", "path", "headers", "status"), OUTSIDE.values(), ids=OUTSIDE)
def test_error__that_no_view_of_the_api_answers__is_not_cached(
    api: Client, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = api.request(method, path, headers=headers)
    assert (answer.status, answer.headers["Cache-Control"]) == (status, "no-store"), answer.text


@pytest.mark.on_sqlite
def test_readyz__without_a_database__is_not_cached(service: Application, tmp_path: Path) -> None:
    with service_without_database(service, tmp_path) as away, Client(away.port) as client:
        answer = client.get("/readyz")
    assert (answer.status, answer.headers["Cache-Control"]) == (503, "no-store")
