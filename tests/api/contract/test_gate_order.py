"""
The order of the gates (docs/contract.md 1.17): of a request that fails at several, the first answers.

key, limit, forbidden, unauthorized, plan, size and media type, JSON and types, ids exist, ids are ours, state, values.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from config.api.ratelimit import ANONYMOUS_LIMIT
from config.base.ids import Prefix
from forms_app.models import Form
from keys.access_keys import issue_key
from keys.models import Organization
from keys.plans import Plan
from tests.services.application import Application
from tests.services.client import Client
from tests.support.rate_windows import lasting_client
from tests.support.replies import unknown_id
from tests.support.tenants import Tenant, make_tenant, text_field

pytestmark = pytest.mark.on_sqlite  # the order of the gates is the same over every database

BROKEN = b"{"
HUGE = b'{"name": ' + b" " * 2**19
TEXT = {"Content-Type": "text/plain"}
REQUIRED_A = [text_field("a", required=True)]
JSON = {"Content-Type": "application/json"}
Request = tuple[str, str, str | None, bytes, dict[str, str]]  # method, path, key, body, headers
Arrange = Callable[[Tenant], Request]


def used_up(tenant: Tenant) -> Tenant:
    """Return the organization, with no request left in any hour."""
    Organization.objects.filter(pk=tenant.organization.pk).update(rate_limit=1)
    return tenant


def archived(tenant: Tenant, **values: Any) -> str:
    form_id = tenant.form(published=False, **values)
    Form.objects.filter(organization=tenant.organization, is_default=False).update(status=Form.Status.ARCHIVED)
    return form_id


def revoked_key(tenant: Tenant) -> str:
    key, token = issue_key(organization=tenant.organization, name="Old", by=None, permissions=[])
    key.revoked_at = dt.datetime.now(dt.UTC)
    key.save()
    return token


def post(path: str, key: str | None, body: bytes = BROKEN, headers: dict[str, str] = JSON) -> Request:
    return "POST", path, key, body, headers


def webhook(form_id: str, url: str = "https://example.com/", extra: str = "") -> bytes:
    return f'{{"formId": "{form_id}", "url": "{url}", "events": ["submission.created"]{extra}}}'.encode()


# name -> (the request that fails there and at every later gate that it can, the gate that must answer)
ORDER: dict[str, tuple[Arrange, int, str]] = {
    "key before everything": (
        lambda t: post(f"/api/forms/{unknown_id(Prefix.FORM)}", revoked_key(t), HUGE, TEXT), 401, "invalid_access_key"
    ),
    "key before limit": (
        lambda t: post("/api/forms", revoked_key(used_up(t)), HUGE, TEXT), 401, "invalid_access_key"
    ),
    "key before plan": (
        lambda t: post("/api/keys", revoked_key(make_tenant(Plan.FREE)), HUGE, TEXT), 401, "invalid_access_key"
    ),
    "submit: key before everything": (
        lambda t: post(f"/api/submit?formId={unknown_id(Prefix.FORM)}", revoked_key(t), HUGE, TEXT),
        401,
        "invalid_access_key",
    ),
    "submit: key before the id's form": (
        lambda t: post("/api/submit?formId=wrong", None, BROKEN, JSON), 401, "invalid_access_key"
    ),
    "forbidden before plan": (
        lambda t: post("/api/keys", make_tenant(Plan.FREE).issue("forms:read"), HUGE, TEXT), 403, "forbidden"
    ),
    "forbidden before size": (
        lambda t: post("/api/forms", t.issue("webhooks:write"), HUGE, TEXT), 403, "forbidden"
    ),
    "forbidden before a foreign id": (
        lambda t: ("PATCH", f"/api/forms/{make_tenant().form()}", t.publishable, BROKEN, JSON), 403, "forbidden"
    ),
    "forbidden before the method": (
        lambda t: ("DELETE", "/api/forms", t.publishable, b"", {}), 403, "forbidden"
    ),
    "unauthorized before size": (
        lambda t: post("/api/forms", t.issue("forms:read"), HUGE, TEXT), 403, "unauthorized"
    ),
    "unauthorized before the id's form": (
        lambda t: ("DELETE", "/api/forms/wrong", t.issue("forms:read"), b"", {}), 403, "unauthorized"
    ),
    "plan before size": (
        lambda t: post("/api/keys", make_tenant(Plan.PRO).key, HUGE, TEXT), 403, "plan_required"
    ),
    "size before media type": (lambda t: post("/api/forms", t.key, HUGE, TEXT), 413, "payload_too_large"),
    "size before JSON": (lambda t: post("/api/forms", t.key, HUGE, JSON), 413, "payload_too_large"),
    "submit: size before media type": (lambda t: post("/api/submit", t.key, HUGE, TEXT), 413, "payload_too_large"),
    "submit: size before the id": (
        lambda t: post(f"/api/submit?formId={unknown_id(Prefix.FORM)}", t.key, HUGE), 413, "payload_too_large"
    ),
    "media type before JSON": (lambda t: post("/api/forms", t.key, BROKEN, TEXT), 415, "unsupported_media_type"),
    "submit: media type before JSON": (
        lambda t: post("/api/submit?formId=wrong", t.key, BROKEN, TEXT), 415, "unsupported_media_type"
    ),
    "JSON before the id": (
        lambda t: ("PATCH", f"/api/forms/{unknown_id(Prefix.FORM)}", t.key, BROKEN, JSON), 400, "invalid_json"
    ),
    "JSON before a foreign id": (
        lambda t: ("PATCH", f"/api/forms/{make_tenant().form()}", t.key, BROKEN, JSON), 400, "invalid_json"
    ),
    "JSON before state": (lambda t: ("PATCH", f"/api/forms/{archived(t)}", t.key, BROKEN, JSON), 400, "invalid_json"),
    "submit: JSON before the id": (
        lambda t: post(f"/api/submit?formId={unknown_id(Prefix.FORM)}", t.key), 400, "invalid_json"
    ),
    "submit: JSON before state": (
        lambda t: post(f"/api/submit?formId={archived(t)}", t.key), 400, "invalid_json"
    ),
    "types before the id": (
        lambda t: ("PATCH", f"/api/forms/{unknown_id(Prefix.FORM)}", t.key, b'{"name": 5}', JSON),
        400,
        "validation_error",
    ),
    "types before a foreign id": (
        lambda t: post("/api/webhooks", t.key, webhook(make_tenant().form(), extra=', "typo": 1')),
        400,
        "validation_error",
    ),
    "types before state": (
        lambda t: ("PATCH", f"/api/forms/{archived(t)}", t.key, b'{"name": 5}', JSON), 400, "validation_error"
    ),
    "submit: types before the id": (
        lambda t: post(f"/api/submit?formId={unknown_id(Prefix.FORM)}", t.key, b'{"a": {}}'), 400, "validation_error"
    ),
    "ids exist before values": (
        lambda t: post("/api/webhooks", t.key, webhook(unknown_id(Prefix.FORM), "ftp://x")), 404, "not_found"
    ),
    "submit: ids exist before values": (
        lambda t: post(f"/api/submit?formId={unknown_id(Prefix.FORM)}", t.key, b"{}"), 404, "not_found"
    ),
    "ids are ours before values": (
        lambda t: post("/api/webhooks", t.key, webhook(make_tenant().form(), "ftp://x")), 403, "unauthorized"
    ),
    "ids are ours before state": (
        lambda t: post("/api/webhooks", t.key, webhook(archived(make_tenant()))), 403, "unauthorized"
    ),
    "submit: ids are ours before state": (
        lambda t: post(f"/api/submit?formId={archived(make_tenant())}", t.key, b'{"a": "1"}'), 403, "unauthorized"
    ),
    "submit: ids are ours before values": (
        lambda t: post(f"/api/submit?formId={make_tenant().form(fields=REQUIRED_A)}", t.key, b"{}"),
        403,
        "unauthorized",
    ),
    "state before values": (
        lambda t: post("/api/webhooks", t.key, webhook(archived(t), "ftp://x")), 409, "conflict"
    ),
    "submit: state before values": (
        lambda t: post(f"/api/submit?formId={archived(t, fields=REQUIRED_A)}", t.key, b'{"b": "1"}'),
        403,
        "form_not_published",
    ),
    "submit: state before an empty submission": (
        lambda t: post(f"/api/submit?formId={archived(t)}", t.key, b"{}"), 403, "form_not_published"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("arrange", "status", "error"), ORDER.values(), ids=ORDER)
def test_gates__request_that_fails_at_several__the_first_answers(
    api: Client, arrange: Arrange, status: int, error: str
) -> None:
    method, path, key, body, headers = arrange(make_tenant())

    answer = api.request(method, path, key, data=body, headers=headers)

    assert (answer.status, answer.json()["error"]) == (status, error), answer.text


OVER_THE_LIMIT: dict[str, Arrange] = {
    "forbidden": lambda t: ("GET", "/api/keys", t.issue("forms:read"), b"", {}),
    "unauthorized": lambda t: post("/api/forms", t.issue("forms:read"), HUGE, TEXT),
    "size": lambda t: post("/api/forms", t.key, HUGE, TEXT),
    "method": lambda t: ("PUT", "/api/forms", t.key, BROKEN, JSON),
    "id": lambda t: ("GET", "/api/forms/wrong", t.key, b"", {}),
    "path": lambda t: ("GET", "/api/nothing", t.key, b"", {}),
    "submit": lambda t: post("/api/submit?formId=wrong", t.key, HUGE, TEXT),
    "submit to a foreign form": lambda t: post(f"/api/submit?formId={make_tenant().form()}", t.key, b'{"a": "1"}'),
}


@pytest.mark.parametrize("arrange", OVER_THE_LIMIT.values(), ids=OVER_THE_LIMIT)
def test_gates__over_the_limit__answers_before_every_gate_but_the_key(api: Client, arrange: Arrange) -> None:
    tenant = used_up(make_tenant())
    method, path, key, body, headers = arrange(tenant)
    assert api.get("/api/forms", tenant.key).status == 200

    answer = api.request(method, path, key, data=body, headers=headers)

    assert (answer.status, answer.json()["error"]) == (429, "rate_limited"), answer.text


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_gates__suspended_over_the_hour_of_its_address__is_suspended(service: Application, method: str) -> None:
    tenant, client = make_tenant(), lasting_client(service.port)
    for _ in range(ANONYMOUS_LIMIT):
        client.get("/api/forms")
    assert client.get("/api/forms").status == 429
    Organization.objects.filter(pk=tenant.organization.pk).update(suspended_at=dt.datetime.now(dt.UTC))
    answer = client.request(method, "/api/forms" if method == "GET" else "/api/submit", tenant.key, json={"a": "1"})
    assert (answer.status, answer.json()["error"]) == (403, "suspended")
