"""`/api/webhooks`: registering, reading, changing and deleting endpoints (docs/contract.md 7)."""

from typing import Any

import pytest

from tests.services.client import Client
from tests.support.replies import NOT_FOUND, TIME, UNAUTHORIZED, Like, an_id, failure, invalid, success, unknown_id
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant
from tests.support.webhooks import EVENTS, register

pytestmark = pytest.mark.quick

SAME_URL = failure("conflict", "This form has a webhook with this URL already. Change that one instead.")
SECRET = Like(r"whsec_[A-Za-z0-9+/]{43}=")
URL = "https://hooks.invalid/fieldpost"


def record(form_id: str | None, **values: Any) -> dict[str, Any]:
    """Return the whole record of a webhook."""
    start = {"id": an_id("whk"), "formId": form_id, "url": URL, "events": EVENTS, "status": "active"}
    return {**start, "mode": "live", "disabledReason": None, "createdAt": TIME, **values}


def page(*data: dict[str, Any]) -> dict[str, Any]:
    """Return a list's first and only page."""
    pagination = {"page": 1, "limit": 25, "total": len(data), "pages": min(len(data), 1)}
    return {**success(list(data), f"{len(data)} found."), "pagination": pagination}


def test_create__https_url__answers_the_record_with_the_secret(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    answer = api.post("/api/webhooks", tenant.key, json={"formId": form_id, "url": URL, "events": EVENTS})
    assert answer.status == 201
    message = "Webhook created. Keep its secret: it is not shown again."
    assert answer.json() == success({**record(form_id), "secret": SECRET}, message)


def test_read_list_and_change__after_creation__never_show_the_secret(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    made = register(api, tenant, URL, form_id)
    shown = {name: value for name, value in made.items() if name != "secret"}
    path = f"/api/webhooks/{made['id']}"
    assert api.get(path, tenant.key).json() == success(shown, "Found.")
    assert api.get("/api/webhooks", tenant.key).json() == page(shown)
    assert api.patch(path, tenant.key, json={"events": EVENTS}).json() == success(shown, "Webhook changed.")


def test_list__several_webhooks__newest_first_and_filtered(api: Client) -> None:
    tenant = make_tenant()
    first, second = tenant.form(), tenant.form()
    made = [register(api, tenant, f"{URL}/{number}", form) for number, form in enumerate((first, first, second))]
    ids = [webhook["id"] for webhook in reversed(made)]
    api.patch(f"/api/webhooks/{ids[0]}", tenant.key, json={"status": "disabled"})

    def listed(query: str) -> list[str]:
        return [webhook["id"] for webhook in api.get(f"/api/webhooks{query}", tenant.key).json()["data"]]

    assert listed("") == ids
    assert listed(f"?formId={first}") == ids[1:]
    assert listed("?status=disabled") == ids[:1]
    assert listed("?status=active") == ids[1:]
    assert listed(f"?status=pending&formId={first}") == []
    assert listed("?limit=2&page=2") == ids[2:]


@pytest.mark.parametrize(
    ("query", "field", "code"),
    [
        ("?formId=nonsense", "formId", "invalid_id"),
        ("?status=asleep", "status", "invalid_choice"),
        ("?state=active", "state", "unknown_parameter"),
        ("?limit=101", "limit", "max_value"),
    ],
)
def test_list__wrong_parameter__is_told(api: Client, query: str, field: str, code: str) -> None:
    answer = api.get(f"/api/webhooks{query}", make_tenant().key)
    assert answer.status == 400
    assert answer.json() == invalid((field, code, answer.json()["message"]))


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    first_on_both(
        [
            ({"formId": 5}, "formId", "invalid_id"),
            ({"formId": "whk_01"}, "formId", "invalid_id"),
            ({"url": 5}, "url", "invalid"),
            ({"url": ""}, "url", "blank"),
            ({"events": []}, "events", "empty"),
            ({"events": "submission.created"}, "events", "not_a_list"),
            ({"events": ["submission.deleted"]}, "events.0", "invalid_choice"),
            ({"events": [None]}, "events.0", "null"),
            ({"status": "active"}, "status", "unknown_field"),
            ({"secret": "whsec_AAAA"}, "secret", "unknown_field"),
        ]
    ),
)
def test_create__wrong_value__is_a_validation_error(
    api: Client, changes: dict[str, Any], field: str, code: str
) -> None:
    tenant = make_tenant()
    body = {"formId": tenant.default_form_id, "url": URL, "events": EVENTS, **changes}
    answer = api.post("/api/webhooks", tenant.key, json=body)
    assert answer.status == 400
    assert answer.json() == invalid((field, code, answer.json()["message"]))
    assert field in answer.json()["message"]
    assert api.get("/api/webhooks", tenant.key).json() == page()


def test_create__nothing_given__names_all_three_fields(api: Client) -> None:
    answer = api.post("/api/webhooks", make_tenant().key, json={})
    assert answer.status == 400
    details = answer.json()["details"]
    assert [(detail["field"], detail["code"]) for detail in details] == [
        ("formId", "required"),
        ("url", "required"),
        ("events", "required"),
    ]


def test_create__same_url_twice_on_a_form__is_a_conflict(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    register(api, tenant, URL, form_id)
    answer = api.post("/api/webhooks", tenant.key, json={"formId": form_id, "url": URL, "events": EVENTS})
    assert (answer.status, answer.json()) == (409, SAME_URL)
    register(api, tenant, URL, tenant.form())  # on another form it is fine


def test_create__archived_form__is_a_conflict(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    assert api.delete(f"/api/forms/{form_id}", tenant.key).status == 200
    answer = api.post("/api/webhooks", tenant.key, json={"formId": form_id, "url": URL, "events": EVENTS})
    message = "This form is archived and takes no more submissions. Choose another form."
    assert (answer.status, answer.json()) == (409, failure("conflict", message))


def test_create__repeated_event__is_kept_once(api: Client) -> None:
    tenant = make_tenant()
    body = {"formId": tenant.default_form_id, "url": URL, "events": EVENTS * 3}
    assert api.post("/api/webhooks", tenant.key, json=body).json()["data"]["events"] == EVENTS


def test_create__form_unknown_or_foreign__is_404_or_403(api: Client) -> None:
    tenant, stranger = make_tenant(), make_tenant()
    body = {"url": URL, "events": EVENTS}
    answer = api.post("/api/webhooks", tenant.key, json={**body, "formId": unknown_id("frm")})
    assert answer.status == 404
    assert answer.json() == NOT_FOUND
    answer = api.post("/api/webhooks", tenant.key, json={**body, "formId": stranger.default_form_id})
    assert answer.status == 403
    assert answer.json() == UNAUTHORIZED


def test_change__url_and_status__come_back_and_stay(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    path = f"/api/webhooks/{register(api, tenant, URL, form_id)['id']}"
    moved = record(form_id, url=f"{URL}/new")
    assert api.patch(path, tenant.key, json={"url": f"{URL}/new"}).json() == success(moved, "Webhook changed.")
    disabled = {**moved, "status": "disabled", "disabledReason": "Disabled by hand."}
    assert api.patch(path, tenant.key, json={"status": "disabled"}).json() == success(disabled, "Webhook changed.")
    assert api.get(path, tenant.key).json()["data"] == disabled
    assert api.patch(path, tenant.key, json={"status": "active"}).json()["data"] == moved


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    first_on_both(
        [
            ({"status": "pending"}, "status", "invalid_choice"),  # only a page that names a URL makes one pending
            ({"status": None}, "status", "null"),
            ({"events": []}, "events", "empty"),
            ({"url": "ftp://hooks.invalid/"}, "url", "scheme_not_allowed"),
            ({"url": "https://10.0.0.1/"}, "url", "address_not_allowed"),
            ({"formId": unknown_id("frm")}, "formId", "unknown_field"),
        ]
    ),
)
def test_change__wrong_value__is_refused_and_changes_nothing(
    api: Client, changes: dict[str, Any], field: str, code: str
) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    path = f"/api/webhooks/{register(api, tenant, URL, form_id)['id']}"
    answer = api.patch(path, tenant.key, json=changes)
    assert answer.status == 400
    assert answer.json() == invalid((field, code, answer.json()["message"]))
    assert api.get(path, tenant.key).json()["data"] == record(form_id)


def test_change__to_a_url_the_form_has__is_a_conflict(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    register(api, tenant, URL, form_id)
    other = register(api, tenant, f"{URL}/other", form_id)
    answer = api.patch(f"/api/webhooks/{other['id']}", tenant.key, json={"url": URL})
    assert (answer.status, answer.json()) == (409, SAME_URL)
    assert api.get(f"/api/webhooks/{other['id']}", tenant.key).json()["data"]["url"] == f"{URL}/other"


def test_delete__registered__is_gone_with_its_log(api: Client) -> None:
    tenant = make_tenant()
    made = register(api, tenant, URL)
    path = f"/api/webhooks/{made['id']}"
    answer = api.delete(path, tenant.key)
    assert answer.status == 200
    assert answer.json() == success({"id": made["id"], "deleted": True}, "Webhook deleted.")
    assert api.get("/api/webhooks", tenant.key).json() == page()
    for answer in (api.get(path, tenant.key), api.delete(path, tenant.key), api.get(f"{path}/deliveries", tenant.key)):
        assert (answer.status, answer.json()) == (404, NOT_FOUND)
    register(api, tenant, URL, made["formId"])  # its URL is free again


ROUTES = [
    ("GET", ""),
    ("PATCH", ""),
    ("DELETE", ""),
    ("POST", "/test"),
    ("POST", "/rotate-secret"),
    ("POST", "/replay"),
    ("GET", "/deliveries"),
]


@pytest.mark.parametrize(("method", "action"), ROUTES)
def test_every_route__key_of_another_organization__is_unauthorized(api: Client, method: str, action: str) -> None:
    tenant, stranger = make_tenant(), make_tenant()
    made = register(api, tenant, URL)
    body: dict[str, Any] = {"json": {"status": "disabled"}} if method == "PATCH" else {}
    answer = api.request(method, f"/api/webhooks/{made['id']}{action}", stranger.key, **body)
    assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
    answer = api.request(method, f"/api/webhooks/{unknown_id('whk')}{action}", stranger.key, **body)
    assert (answer.status, answer.json()) == (404, NOT_FOUND)
    assert api.get(f"/api/webhooks/{made['id']}", tenant.key).json()["data"] == record(made["formId"])
