"""Well-formed bodies and addresses with wrong values: a clear 4xx in the envelope, nothing stored, never a 500."""

import datetime as dt
import json
from typing import Any

import pytest

from config.base.ids import Prefix
from tests.services.client import Client
from tests.support.replies import UNAUTHORIZED, invalid, invalid_id, unknown_id
from tests.support.tables.body_endpoints import ENDPOINTS, BodyEndpoint, submission_path, webhook_path
from tests.support.tables.databases import first_on_both
from tests.support.tables.stored_rows import stored_rows
from tests.support.tenants import make_tenant

JSON = {"Content-Type": "application/json"}
MANAGEMENT = {name: endpoint for name, endpoint in ENDPOINTS.items() if name != "POST /api/submit"}
# The others are refused by the same code, before any row is written.
every_management_endpoint = pytest.mark.parametrize("endpoint", first_on_both(MANAGEMENT.values(), 2), ids=MANAGEMENT)


@every_management_endpoint
def test_body__with_unknown_names__is_refused_and_nothing_stored(api: Client, endpoint: BodyEndpoint) -> None:
    tenant = make_tenant()
    path = endpoint.path(tenant)
    before = stored_rows(tenant)
    odd = [
        b"typo",
        b"Name",
        b"__proto__",
        b"name\\u0000",
        b"\\ud800",
        b"",
        b"fields_",
        b"non_field_errors",
        b"n" * 5000,
    ]

    for name in odd:
        body = b'{"' + name + b'": 1}'
        answer = api.request(endpoint.method, path, tenant.key, data=body, headers=JSON)
        assert (name, answer.status, answer.json()["error"]) == (name, 400, "validation_error")
        assert "unknown_field" in {detail["code"] for detail in answer.json()["details"]}
    assert stored_rows(tenant) == before


@pytest.mark.parametrize("endpoint", first_on_both(ENDPOINTS.values(), 2), ids=ENDPOINTS)
def test_body__with_ten_thousand_names__is_refused_in_a_small_answer(api: Client, endpoint: BodyEndpoint) -> None:
    tenant = make_tenant()
    path = endpoint.path(tenant)
    before = stored_rows(tenant)

    answer = api.request(endpoint.method, path, tenant.key, json={f"key{number}": 1 for number in range(10_000)})

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert len(answer.body) < 10_000
    assert stored_rows(tenant) == before


@every_management_endpoint
@pytest.mark.parametrize("query", first_on_both(["%00=1", "dry_run=1", "utm_source=mail", "%ff=1", "name=New"]))
def test_query__with_an_unknown_parameter__is_refused_and_nothing_stored(
    api: Client, endpoint: BodyEndpoint, query: str
) -> None:
    tenant = make_tenant()
    path = endpoint.path(tenant)
    before = stored_rows(tenant)

    answer = api.request(endpoint.method, f"{path}{'&' if '?' in path else '?'}{query}", tenant.key, json=endpoint.good)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert {detail["code"] for detail in answer.json()["details"]} == {"unknown_parameter"}
    assert stored_rows(tenant) == before


TODAY = dt.datetime.now(dt.UTC).date()
LONG_AGO, YESTERDAY = "2000-01-01", str(TODAY - dt.timedelta(days=1))
WRONG_KEYS: list[tuple[dict[str, Any], str, str]] = [
    ({}, "name", "required"),
    ({"name": "\0"}, "name", "blank"),
    ({"name": 5}, "name", "invalid"),
    ({"name": None}, "name", "null"),
    ({"name": ["Deploy"]}, "name", "invalid"),
    ({"name": ""}, "name", "blank"),
    ({"name": "n" * 201}, "name", "max_length"),
    ({"permissions": ["forms:delete"]}, "permissions.0", "invalid_choice"),
    ({"permissions": ["FORMS:READ"]}, "permissions.0", "invalid_choice"),
    ({"permissions": ["forms:read", "admin"]}, "permissions.1", "invalid_choice"),
    ({"permissions": [5]}, "permissions.0", "invalid_choice"),
    ({"permissions": [["forms:read"]]}, "permissions.0", "invalid_choice"),
    ({"permissions": [{}]}, "permissions.0", "invalid_choice"),
    ({"permissions": "forms:read"}, "permissions", "not_a_list"),
    ({"permissions": {"forms:read": True}}, "permissions", "not_a_list"),
    ({"permissions": None}, "permissions", "null"),
    ({"expiresAt": YESTERDAY}, "expiresAt", "in_the_past"),
    ({"expiresAt": LONG_AGO}, "expiresAt", "in_the_past"),
    ({"expiresAt": "tomorrow"}, "expiresAt", "invalid"),
    ({"expiresAt": ""}, "expiresAt", "invalid"),
    ({"expiresAt": "2999-02-30"}, "expiresAt", "invalid"),
    ({"expiresAt": "2999-1-1"}, "expiresAt", "invalid"),
    ({"expiresAt": "29990101"}, "expiresAt", "invalid"),
    ({"expiresAt": "2999-W01-1"}, "expiresAt", "invalid"),
    ({"expiresAt": "2999-01-01T00:00:00Z"}, "expiresAt", "invalid"),
    ({"expiresAt": 29990101}, "expiresAt", "invalid"),
    ({"expiresAt": ["2999-01-01"]}, "expiresAt", "invalid"),
    ({"kind": "admin"}, "kind", "invalid_choice"),
    ({"kind": 5}, "kind", "invalid_choice"),
    ({"kind": None}, "kind", "null"),
    ({"kind": "publishable", "permissions": ["forms:read"]}, "permissions", "not_for_publishable"),
    ({"admin": True}, "admin", "unknown_field"),
]


@pytest.mark.parametrize(("changes", "field", "code"), first_on_both(WRONG_KEYS, 2), ids=lambda value: str(value)[:60])
def test_key__with_a_wrong_value__is_told_and_not_made(
    api: Client, changes: dict[str, Any], field: str, code: str
) -> None:
    tenant = make_tenant()
    before = stored_rows(tenant)
    body = {"name": "Deploy", **changes} if changes else {}

    answer = api.post("/api/keys", tenant.key, json=body)

    told = answer.json()
    assert (answer.status, told) == (400, invalid((field, code, told["message"])))
    assert stored_rows(tenant) == before


WRONG_WEBHOOKS: list[tuple[dict[str, Any], str, str]] = [
    ({"formId": 5}, "formId", "invalid_id"),
    ({"formId": "contact"}, "formId", "invalid_id"),
    ({"formId": unknown_id(Prefix.WEBHOOK)}, "formId", "invalid_id"),
    ({"url": 5}, "url", "invalid"),
    ({"url": None}, "url", "null"),
    ({"url": ""}, "url", "blank"),
    ({"url": f"https://example.com/{'a' * 2048}"}, "url", "max_length"),
    ({"events": []}, "events", "empty"),
    ({"events": "submission.created"}, "events", "not_a_list"),
    ({"events": None}, "events", "null"),
    ({"events": ["submission.deleted"]}, "events.0", "invalid_choice"),
    ({"events": ["submission.created", "*"]}, "events.1", "invalid_choice"),
    ({"events": ["Submission.Created"]}, "events.0", "invalid_choice"),
    ({"events": [5]}, "events.0", "invalid_choice"),
    ({"events": [["submission.created"]]}, "events.0", "invalid_choice"),
]


@pytest.mark.parametrize(("changes", "field", "code"), first_on_both(WRONG_WEBHOOKS), ids=lambda value: str(value)[:60])
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_webhook__with_a_wrong_value__is_told_and_nothing_stored(
    api: Client, method: str, changes: dict[str, Any], field: str, code: str
) -> None:
    tenant = make_tenant()
    good = {"formId": tenant.form(), "url": "https://hooks.invalid/", "events": ["submission.created"]}
    path = "/api/webhooks" if method == "POST" else webhook_path(tenant)
    before = stored_rows(tenant)

    answer = api.request(method, path, tenant.key, json=good | changes if method == "POST" else changes)

    told = answer.json()
    code = "unknown_field" if method == "PATCH" and field == "formId" else code
    assert (answer.status, told) == (400, invalid((field, code, told["message"])))
    assert stored_rows(tenant) == before


@pytest.mark.parametrize(
    "url",
    first_on_both(
        [
            *("example.com", "ftp://example.com/", "javascript:alert(1)", "//example.com", "https://", "https:///path"),
            *(
                "https://user:password@example.com/",
                "https://169.254.169.254/latest",
                "https://10.0.0.1/",
                "https://[::]/",
            ),
            *(
                "https://example.com:99999/",
                "https://exa mple.com/",
                "https://example.com/a\nb",
            ),
            *("http://0x0a000001/", "https://example.com:port/", "https://[", "https://example.com\\@10.0.0.1/"),
        ]
    ),
)
def test_webhook__address_that_may_not_be_called__is_told_and_nothing_stored(api: Client, url: str) -> None:
    tenant = make_tenant()
    body = {"formId": tenant.form(), "url": url, "events": ["submission.created"]}
    before = stored_rows(tenant)

    answer = api.post("/api/webhooks", tenant.key, json=body)

    told = answer.json()
    assert (answer.status, told["error"]) == (400, "validation_error")
    assert [detail["field"] for detail in told["details"]] == ["url"]
    assert stored_rows(tenant) == before


@pytest.mark.parametrize("given", first_on_both([None, 0, 1, "true", "", [], {}, [True]]))
def test_spam_mark__that_is_no_boolean__is_refused_and_nothing_changes(api: Client, given: Any) -> None:
    tenant = make_tenant()
    path = submission_path(tenant)
    before = stored_rows(tenant)

    answer = api.patch(path, tenant.key, json={"spam": given})

    told = answer.json()
    code = "null" if given is None else "invalid"
    assert (answer.status, told) == (400, invalid(("spam", code, told["message"])))
    assert stored_rows(tenant) == before


@pytest.mark.parametrize(
    ("body", "field"),
    first_on_both(
        [
            ({"from": "yesterday"}, "from"),
            ({"from": 20240101}, "from"),
            ({"from": None}, "from"),
            ({"to": "2024-13-01"}, "to"),
            ({"to": "2024-W01-1"}, "to"),
            ({"to": "2024-01-01T00:00:00"}, "to"),
            ({"to": "2024-01-01T00:00:00+25:00"}, "to"),
            ({"to": "2024-01-01T00:00:00+02:60"}, "to"),
            ({"status": "pending"}, "status"),
            ({"status": 5}, "status"),
            ({"dryRun": "yes"}, "dryRun"),
            ({"dryRun": 1}, "dryRun"),
        ]
    ),
)
def test_replay__with_a_wrong_value__is_told(api: Client, body: dict[str, Any], field: str) -> None:
    tenant = make_tenant()
    path = f"{webhook_path(tenant)}/replay"

    answer = api.post(path, tenant.key, json=body)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert [detail["field"] for detail in answer.json()["details"]] == [field]


def test_webhook__of_a_foreign_or_other_id__is_refused_and_nothing_stored(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    rest = {"url": "https://hooks.invalid/", "events": ["submission.created"]}
    before = stored_rows(tenant), stored_rows(other)

    foreign = api.post("/api/webhooks", tenant.key, json={"formId": other.default_form_id, **rest})
    kind = api.post("/api/webhooks", tenant.key, json={"formId": unknown_id(Prefix.SUBMISSION), **rest})

    assert (foreign.status, foreign.json()) == (403, UNAUTHORIZED)
    assert (kind.status, kind.json()) == (400, invalid_id("frm", "formId"))
    assert (stored_rows(tenant), stored_rows(other)) == before


def test_name__twice_in_one_object__counts_as_the_last(api: Client) -> None:
    tenant = make_tenant()
    body = b'{"name": 5, "name": "Last", "fields": 1, "fields": [{"label": 1, "label": "A", "type": "Text"}]}'

    answer = api.post("/api/forms", tenant.key, data=body, headers=JSON)

    form = answer.json()["data"]
    assert (answer.status, form["name"], [field["label"] for field in form["fields"]]) == (201, "Last", ["A"])


def test_names_and_values__with_nul_and_surrogates__are_told_in_storable_text(api: Client) -> None:
    body = json.dumps({"na\0me\ud800": 1, "name": "New"})

    answer = api.post("/api/forms", make_tenant().key, data=body, headers=JSON)

    told = answer.json()
    assert (answer.status, told["error"]) == (400, "validation_error")
    assert [detail["field"] for detail in told["details"]] == ["name\ufffd"]
    assert "\0" not in answer.text
