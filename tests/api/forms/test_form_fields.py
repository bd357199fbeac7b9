"""The fields of a form: types, names, options (docs/contract.md 4)."""

from typing import Any

import pytest

from tests.services.client import Answer, Client
from tests.support.replies import invalid
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant, text_field

TYPES = ["Text", "Email", "Textarea", "Number", "Phone", "URL", "Date", "Select", "Checkbox", "Hidden", "File"]
CONTROL_NAMES = ["_formId", "_next", "_subject", "_replyto", "_gotcha", "_webhook", "_altcha"]
CAPTCHA_NAMES = ["g-recaptcha-response", "h-captcha-response", "cf-turnstile-response", "altcha"]


def create(api: Client, *fields: Any) -> Answer:
    return api.post("/api/forms", make_tenant().key, json={"name": "Contact", "fields": list(fields)})


def stored_fields(answer: Answer) -> list[dict[str, Any]]:
    assert answer.status == 201, answer.text
    return list(answer.json()["data"]["fields"])


@pytest.mark.parametrize(
    "spelling", first_on_both([str, str.lower, str.upper, str.swapcase]), ids=["own", "lower", "upper", "swap"]
)
def test_type__in_any_case__is_answered_in_the_specs_spelling(api: Client, spelling: Any) -> None:
    fields = [
        {"label": name, "type": spelling(name), **({"options": ["a"]} if name == "Select" else {})} for name in TYPES
    ]

    assert [field["type"] for field in stored_fields(create(api, *fields))] == TYPES


@pytest.mark.parametrize("given", first_on_both(["Text\0area", "Password", "", " Text", None, 5, True, ["Text"], {}]))
def test_type__that_is_none__is_refused_and_the_choices_named(api: Client, given: Any) -> None:
    answer = create(api, {"label": "A", "type": given})

    assert answer.status == 400
    body = answer.json()
    code = "null" if given is None else "invalid_choice"
    assert body == invalid(("fields.0.type", code, body["message"]))
    assert given is None or ", ".join(TYPES) in body["message"]


def test_field__label_and_type_alone__gets_a_name_and_is_optional(api: Client) -> None:
    fields = stored_fields(create(api, {"label": "Your name", "type": "Text"}))

    assert fields == [{"name": "your-name", "label": "Your name", "type": "Text", "required": False}]


@pytest.mark.parametrize(
    ("labels", "expected"),
    first_on_both(
        [
            (["\u540d\u524d", "???", "Name"], ["field_1", "field_2", "name"]),
            (["Your name", "E-mail"], ["your-name", "e-mail"]),
            (["Crème brûlée?"], ["creme-brulee"]),
            (["Name", "Name", "name"], ["name", "field_2", "field_3"]),
            (["Name", "!", "\u540d\u524d"], ["name", "field_2", "field_3"]),
            (["field_2", "!"], ["field_2", "field_3"]),
            (["L" * 200], ["l" * 128]),
        ]
    ),
)
def test_name__left_out__is_made_from_the_label(api: Client, labels: list[str], expected: list[str]) -> None:
    fields = stored_fields(create(api, *({"label": label, "type": "Text"} for label in labels)))

    assert [field["name"] for field in fields] == expected


def test_name__given__wins_over_one_that_would_be_made(api: Client) -> None:
    fields = [{"label": "Name", "type": "Text"}, {"label": "B", "name": "name", "type": "Text"}]

    assert [field["name"] for field in stored_fields(create(api, *fields))] == ["field_1", "name"]


def test_name__made_from_a_label_that_spells_a_captcha_token__is_not_that_token(api: Client) -> None:
    """Under that name its values would never be stored."""
    fields = stored_fields(create(api, {"label": "Altcha", "type": "Text"}))

    assert [field["name"] for field in fields] == ["field_1"]


@pytest.mark.parametrize("name", first_on_both([*CONTROL_NAMES, *CAPTCHA_NAMES]))
def test_name__of_a_control_field__is_refused(api: Client, name: str) -> None:
    answer = create(api, text_field("first"), text_field(name))

    message = f"fields.1.name: {name} is a control field. Choose another name."
    assert (answer.status, answer.json()) == (400, invalid(("fields.1.name", "reserved", message)))


@pytest.mark.parametrize("name", ["_x", "gotcha", "subject", "__proto__", "with space", "e[mail]", "n" * 128, "\u540d"])
def test_name__of_any_other_spelling__is_kept(api: Client, name: str) -> None:
    assert stored_fields(create(api, text_field(name)))[0]["name"] == name


@pytest.mark.parametrize("names", [("a", "a"), ("caf\u00e9", "cafe\u0301"), ("a", "a\0")])
def test_name__twice__is_refused(api: Client, names: tuple[str, str]) -> None:
    first, second = names

    answer = create(api, text_field(first), text_field("other"), text_field(second))

    message = f"fields: Two fields have the name {first}."
    assert (answer.status, answer.json()) == (400, invalid(("fields", "duplicate", message)))


@pytest.mark.parametrize(
    ("field", "path", "code"),
    first_on_both(
        [
            ({"label": "\0", "type": "Text"}, "label", "blank"),
            ({"type": "Text"}, "label", "required"),
            ({"label": "", "type": "Text"}, "label", "blank"),
            ({"label": 5, "type": "Text"}, "label", "invalid"),
            ({"label": "l" * 201, "type": "Text"}, "label", "max_length"),
            ({"label": "A"}, "type", "required"),
            ({"label": "A", "type": "Text", "name": ""}, "name", "blank"),
            ({"label": "A", "type": "Text", "name": 5}, "name", "invalid"),
            ({"label": "A", "type": "Text", "name": "n" * 129}, "name", "max_length"),
            ({"label": "A", "type": "Text", "required": "true"}, "required", "invalid"),
            ({"label": "A", "type": "Text", "required": 1}, "required", "invalid"),
            ({"label": "A", "type": "Text", "required": None}, "required", "null"),
            ({"label": "A", "type": "Text", "placeholder": 5}, "placeholder", "invalid"),
            ({"label": "A", "type": "Text", "placeholder": "p" * 501}, "placeholder", "max_length"),
            ({"label": "A", "type": "Text", "hint": "?"}, "hint", "unknown_field"),
            ({"label": "A", "type": "Select"}, "options", "required"),
            ({"label": "A", "type": "Select", "options": []}, "options", "empty"),
            ({"label": "A", "type": "Select", "options": "red"}, "options", "not_a_list"),
            ({"label": "A", "type": "Select", "options": [5]}, "options.0", "invalid"),
            ({"label": "A", "type": "Select", "options": ["red", ""]}, "options.1", "blank"),
            ({"label": "A", "type": "Text", "options": ["red"]}, "options", "not_allowed"),
            ({"label": "A", "type": "Hidden", "options": ["red"]}, "options", "not_allowed"),
            ({"label": "A", "type": "File", "options": ["red"]}, "options", "not_allowed"),
            ({"label": "A", "type": "File", "accept": ".pdf"}, "accept", "not_a_list"),
            ({"label": "A", "type": "File", "accept": None}, "accept", "null"),
            ({"label": "A", "type": "File", "accept": [".pdf"] * 31}, "accept", "max_length"),
            ({"label": "A", "type": "File", "accept": [".pdf", 5]}, "accept.1", "invalid"),
            ({"label": "A", "type": "File", "accept": [".pdf", ""]}, "accept.1", "blank"),
            ({"label": "A", "type": "File", "accept": ["*.pdf"]}, "accept.0", "invalid_file_type"),
            ({"label": "A", "type": "File", "accept": ["image/svg+xml"]}, "accept.0", "file_type_not_allowed"),
            ({"label": "A", "type": "File", "maxFiles": 0}, "maxFiles", "min_value"),
            ({"label": "A", "type": "File", "maxFiles": 11}, "maxFiles", "max_value"),
            ({"label": "A", "type": "File", "maxFiles": "2"}, "maxFiles", "invalid"),
            ({"label": "A", "type": "File", "maxFiles": True}, "maxFiles", "invalid"),
            ({"label": "A", "type": "File", "maxBytes": 0}, "maxBytes", "min_value"),
            ({"label": "A", "type": "File", "maxBytes": 26_214_401}, "maxBytes", "max_value"),
            ({"label": "A", "type": "File", "maxBytes": 1.5}, "maxBytes", "invalid"),
            ({"label": "A", "type": "Text", "accept": []}, "accept", "not_allowed"),
            ({"label": "A", "type": "Text", "maxFiles": 1}, "maxFiles", "not_allowed"),
            ({"label": "A", "type": "Hidden", "maxBytes": 5}, "maxBytes", "not_allowed"),
        ]
    ),
)
def test_field__with_a_wrong_value__is_told_by_its_path(
    api: Client, field: dict[str, Any], path: str, code: str
) -> None:
    answer = create(api, text_field("first"), field)

    assert answer.status == 400
    body = answer.json()
    assert body == invalid((f"fields.1.{path}", code, body["message"]))
    assert body["message"].startswith(f"fields.1.{path}: ")


@pytest.mark.parametrize("kind", ["Select", "Checkbox"])
def test_options__of_a_choice__are_kept_in_their_order(api: Client, kind: str) -> None:
    field = {"name": "c", "label": "C", "type": kind, "required": False, "options": ["red", "green", "blue"]}

    assert stored_fields(create(api, field)) == [field]


def test_file__without_limits__has_the_defaults_and_takes_every_type(api: Client) -> None:
    fields = stored_fields(
        create(api, {"label": "CV", "type": "file"}, {"label": "Work", "type": "File", "accept": []})
    )

    defaults = {"type": "File", "required": False, "maxFiles": 1, "maxBytes": 10_485_760}
    assert fields == [{"name": "cv", "label": "CV", **defaults}, {"name": "work", "label": "Work", **defaults}]


def test_file__with_limits__has_them_in_one_spelling_and_they_can_be_changed(api: Client) -> None:
    tenant = make_tenant()
    limits = {"accept": ["PDF", ".pdf", "Image/*"], "maxFiles": 10, "maxBytes": 26_214_400}
    body = {"name": "Jobs", "fields": [{"name": "cv", "label": "CV", "type": "File", "required": True, **limits}]}
    form = api.post("/api/forms", tenant.key, json=body).json()["data"]
    stored = {**body["fields"][0], "accept": [".pdf", "image/*"]}  # type: ignore[dict-item]  # a list of objects

    assert form["fields"] == [stored]
    less = {"fields": [{**stored, "maxFiles": 1}]}
    assert api.patch(f"/api/forms/{form['id']}", tenant.key, json=less).json()["data"]["fields"] == less["fields"]
    assert api.get(f"/api/forms/{form['id']}", tenant.key).json()["data"]["fields"] == less["fields"]


def test_file__with_a_type_that_runs__is_told_to_leave_it_out(api: Client) -> None:
    answer = create(api, {"label": "A", "type": "File", "accept": ["pdf", "HTML"]})

    message = "fields.0.accept.1: Files of the type .html are always refused, because they can run code. Leave it out."
    assert (answer.status, answer.json()) == (400, invalid(("fields.0.accept.1", "file_type_not_allowed", message)))


def test_text__with_limits_of_files__is_told_about_each(api: Client) -> None:
    answer = create(api, {"label": "A", "type": "Text", "maxFiles": 1, "accept": [".pdf"]})

    details = [
        (f"fields.0.{name}", "not_allowed", f"fields.0.{name}: Only File fields have this.")
        for name in ("accept", "maxFiles")
    ]
    assert (answer.status, answer.json()) == (400, invalid(*details))


@pytest.mark.parametrize("given", first_on_both([5, "Text", {}, None, [5], ["Text"], [None], [[]]]))
def test_fields__that_are_no_list_of_objects__are_refused(api: Client, given: Any) -> None:
    tenant = make_tenant()

    answer = api.post("/api/forms", tenant.key, json={"name": "Contact", "fields": given})

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert [detail["field"].split(".")[0] for detail in answer.json()["details"]] == ["fields"]
    assert api.get("/api/forms", tenant.key).json()["pagination"]["total"] == 1


def test_fields__two_hundred_at_most__are_taken(api: Client) -> None:
    fields = [text_field(f"f{number}") for number in range(201)]

    message = "fields: Ensure this field has no more than 200 elements."
    refused = create(api, *fields)
    assert (refused.status, refused.json()) == (400, invalid(("fields", "max_length", message)))
    assert len(stored_fields(create(api, *fields[:200]))) == 200
