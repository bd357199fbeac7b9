"""`/api/forms`: create, read, list. Fields, settings and states are tested in the files next to this one."""

from typing import Any

import pytest

from config.base.ids import Prefix
from keys.plans import Plan
from tests.api.forms.documents import DEFAULTS
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.replies import NOT_FOUND, TIME, UNAUTHORIZED, an_id, invalid, invalid_id, success, unknown_id
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.quick


def record(form: dict[str, Any], service: Application, **values: Any) -> dict[str, Any]:
    """Return the whole record of a form that was created with only a name."""
    return {
        "id": an_id("frm"),
        **DEFAULTS,
        "key": "contact",
        "name": "Contact",
        "isDefault": False,
        "logo": None,
        "submissionCount": 0,
        "url": f"{service.base_url}/f/{form['id']}",
        "createdAt": TIME,
        "updatedAt": TIME,
        "publishedAt": None,
        **values,
    }


def test_create__name_alone__is_a_draft_with_defaults(api: Client, service: Application) -> None:
    answer = api.post("/api/forms", make_tenant().key, json={"name": "Contact"})

    assert answer.status == 201
    form = answer.json()["data"]
    assert answer.json() == success(record(form, service), "Form created.")
    assert form["createdAt"] == form["updatedAt"]


def test_create__every_value__is_answered_and_read_back(api: Client, service: Application) -> None:
    tenant = make_tenant()
    values = {
        "name": "Orders",
        "status": "published",
        "fields": [
            {"name": "size", "label": "Size", "type": "Select", "required": True, "options": ["S", "M"]},
            {"name": "note", "label": "Note", "type": "Textarea", "required": False, "placeholder": "Anything else?"},
        ],
        "allowedOrigins": ["https://shop.example.com"],
        "redirectUrl": "https://shop.example.com/thanks",
        "successMessage": "Thank you!",
        "retentionDays": 90,
    }

    created = api.post("/api/forms", tenant.key, json=values)
    form = created.json()["data"]
    read = api.get(f"/api/forms/{form['id']}", tenant.key)

    assert created.status == 201
    assert created.json() == success(record(form, service, key="orders", **values, publishedAt=TIME), "Form created.")
    assert (read.status, read.json()) == (200, success(form, "Found."))


@pytest.mark.parametrize(
    ("body", "details"),
    first_on_both(
        [
            ({"name": "\0"}, [("name", "blank", "name: This field may not be blank.")]),
            ({}, [("name", "required", "name: This field is required.")]),
            ({"name": None}, [("name", "null", "name: This field may not be null.")]),
            ({"name": ""}, [("name", "blank", "name: This field may not be blank.")]),
            ({"name": "   "}, [("name", "blank", "name: This field may not be blank.")]),
            ({"name": 5}, [("name", "invalid", "name: Must be a string.")]),
            ({"name": True}, [("name", "invalid", "name: Must be a string.")]),
            (
                {"name": "n" * 201},
                [("name", "max_length", "name: Ensure this field has no more than 200 characters.")],
            ),
            (
                {"name": "Contact", "status": "archived"},
                [("status", "invalid_choice", 'status: "archived" is not a valid choice.')],
            ),
            (
                {"name": "Contact", "status": "Published"},
                [("status", "invalid_choice", 'status: "Published" is not a valid choice.')],
            ),
            (
                {"name": "Contact", "colour": "red"},
                [("colour", "unknown_field", "colour: There is no field of this name: colour")],
            ),
            (
                {"name": "Contact", "isDefault": True},
                [("isDefault", "unknown_field", "isDefault: There is no field of this name: isDefault")],
            ),
        ]
    ),
)
def test_create__wrong_value__is_told_by_its_field(
    api: Client, body: dict[str, Any], details: list[tuple[str, str, str]]
) -> None:
    answer = api.post("/api/forms", make_tenant().key, json=body)

    assert (answer.status, answer.json()) == (400, invalid(*details))


def test_create__several_wrong_values__are_all_told(api: Client) -> None:
    answer = api.post("/api/forms", make_tenant().key, json={"name": 5, "retentionDays": "9", "typo": 1})

    told = [(detail["field"], detail["code"]) for detail in answer.json()["details"]]
    assert answer.status == 400
    assert told == [("name", "invalid"), ("retentionDays", "invalid"), ("typo", "unknown_field")]
    assert answer.json()["message"] == answer.json()["details"][0]["message"]


def test_create__unknown_query_parameter__is_refused(api: Client) -> None:
    tenant = make_tenant()

    answer = api.post("/api/forms?dryRun=1", tenant.key, json={"name": "Contact"})

    message = "There is no query parameter of this name: dryRun. This endpoint has no query parameters."
    assert (answer.status, answer.json()) == (400, invalid(("dryRun", "unknown_parameter", message)))
    assert api.get("/api/forms", tenant.key).json()["pagination"]["total"] == 1


def test_create__name_with_surrogates_and_decomposed_letters__is_cleaned(api: Client) -> None:
    answer = api.post("/api/forms", make_tenant().key, data=b'{"name": "Cafe\\u0301 \\ud800\\u0000!"}', headers=JSON)

    assert (answer.status, answer.json()["data"]["name"]) == (201, "Caf\u00e9 \ufffd!")


JSON = {"Content-Type": "application/json"}


def test_list__new_organization__holds_its_inbox_alone(api: Client, service: Application) -> None:
    tenant = make_tenant(Plan.FREE)

    answer = api.get("/api/forms", tenant.key)

    inbox = record(
        {"id": tenant.default_form_id},
        service,
        key="inbox",
        name="Inbox",
        status="published",
        isDefault=True,
        publishedAt=TIME,
    )
    assert answer.status == 200
    assert answer.json() == {
        "success": True,
        "data": [{**inbox, "id": tenant.default_form_id}],
        "message": "1 found.",
        "pagination": {"page": 1, "limit": 25, "total": 1, "pages": 1},
    }


def names(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.text
    return [form["name"] for form in answer.json()["data"]]


def test_list__several_organizations__shows_the_callers_forms_newest_first(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    other.form(name="Theirs")
    for name in ("First", "Second", "Third"):
        api.post("/api/forms", tenant.key, json={"name": name})

    assert names(api.get("/api/forms", tenant.key)) == ["Third", "Second", "First", "Inbox"]


@pytest.mark.parametrize(
    ("query", "expected", "pagination"),
    [
        ("", ["F4", "F3", "F2", "F1", "Inbox"], {"page": 1, "limit": 25, "total": 5, "pages": 1}),
        ("?limit=2", ["F4", "F3"], {"page": 1, "limit": 2, "total": 5, "pages": 3}),
        ("?limit=2&page=3", ["Inbox"], {"page": 3, "limit": 2, "total": 5, "pages": 3}),
        ("?limit=2&page=4", [], {"page": 4, "limit": 2, "total": 5, "pages": 3}),
        ("?limit=5", ["F4", "F3", "F2", "F1", "Inbox"], {"page": 1, "limit": 5, "total": 5, "pages": 1}),
        ("?limit=100&page=2", [], {"page": 2, "limit": 100, "total": 5, "pages": 1}),
        ("?status=archived", [], {"page": 1, "limit": 25, "total": 0, "pages": 0}),
    ],
)
def test_list__page_and_limit__cut_the_same_five_forms(
    api: Client, query: str, expected: list[str], pagination: dict[str, int]
) -> None:
    tenant = make_tenant()
    for number in range(1, 5):
        tenant.form(name=f"F{number}")

    answer = api.get(f"/api/forms{query}", tenant.key)

    assert names(answer) == expected
    assert answer.json()["pagination"] == pagination


@pytest.mark.parametrize(
    ("query", "field", "code"),
    first_on_both(
        [
            ("page=0", "page", "min_value"),
            ("page=-1", "page", "min_value"),
            ("page=one", "page", "invalid"),
            ("page=1.5", "page", "invalid"),
            ("page=", "page", "invalid"),
            ("limit=0", "limit", "min_value"),
            ("limit=101", "limit", "max_value"),
            ("limit=1000", "limit", "max_value"),
            ("limit=all", "limit", "invalid"),
            ("status=deleted", "status", "invalid_choice"),
            ("statuss=draft", "statuss", "unknown_parameter"),
            ("Page=1", "Page", "unknown_parameter"),
        ]
    ),
)
def test_list__parameter_out_of_range__is_refused(api: Client, query: str, field: str, code: str) -> None:
    answer = api.get(f"/api/forms?{query}", make_tenant().key)

    assert answer.status == 400
    body = answer.json()
    assert body == invalid((field, code, body["message"]))
    assert field in body["message"]


def test_list__page_beyond_every_table__is_empty(api: Client) -> None:
    answer = api.get(f"/api/forms?page={10**30}", make_tenant().key)

    assert (answer.status, answer.json()["data"], answer.json()["pagination"]["total"]) == (200, [], 1)


ROUTES = [
    ("GET", "", None),
    ("PATCH", "", {"name": "New"}),
    ("DELETE", "", None),
    ("POST", "/publish", None),
    ("POST", "/unpublish", None),
]


def ask(api: Client, route: tuple[str, str, Any], form_id: str, key: str) -> Answer:
    method, action, body = route
    options = {} if body is None else {"json": body}
    return api.request(method, f"/api/forms/{form_id}{action}", key, **options)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route[0]}{route[1]}")
def test_form__id_that_is_none__is_a_validation_error(api: Client, route: tuple[str, str, Any]) -> None:
    tenant = make_tenant()
    good = tenant.form()
    wrong = [
        unknown_id(Prefix.SUBMISSION),
        good.upper(),
        good[:-1],
        f"{good}0",
        good.partition("_")[2],
        "frm_8zzzzzzzzzzzzzzzzzzzzzzzzz",
        "frm_0000000000000000000000000u",
        "1",
    ]

    for form_id in wrong:
        answer = ask(api, route, form_id, tenant.key)
        assert (form_id, answer.status, answer.json()) == (form_id, 400, invalid_id("frm"))


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route[0]}{route[1]}")
def test_form__unknown_or_foreign_id__is_404_or_403(api: Client, route: tuple[str, str, Any]) -> None:
    tenant, other = make_tenant(), make_tenant()
    foreign = other.form(name="Theirs", published=False)
    before = api.get(f"/api/forms/{foreign}", other.key).json()

    unknown = ask(api, route, unknown_id(Prefix.FORM), tenant.key)
    refused = ask(api, route, foreign, tenant.key)

    assert (unknown.status, unknown.json()) == (404, NOT_FOUND)
    assert (refused.status, refused.json()) == (403, UNAUTHORIZED)
    assert api.get(f"/api/forms/{foreign}", other.key).json() == before
