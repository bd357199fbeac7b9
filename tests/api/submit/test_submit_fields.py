"""The checks of a submission against its form's declared fields (docs/contract.md 5.6)."""

from typing import Any

import pytest

from tests.services.client import Client
from tests.support.replies import invalid
from tests.support.submitting import accepted, stored_data
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant

ADVICE = {
    "Email": ("invalid_email", "must be an email address"),
    "Number": ("invalid_number", "must be a number"),
    "URL": ("invalid_url", "must be a URL that begins with http:// or https://"),
    "Date": ("invalid_date", "must be a date in the form YYYY-MM-DD"),
    "Select": ("invalid_choice", "must be one of its options"),
}


def definition(kind: str, *, required: bool = False) -> dict[str, Any]:
    options = {"options": ["red", "sky blue"]} if kind == "Select" else {}
    return {"name": "value", "label": "The value", "type": kind, "required": required, **options}


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    first_on_both(
        [
            ("Text", "anything\nat all", "anything\nat all"),
            ("Checkbox", ["a", "b"], "a, b"),
            ("Number", 5, "5"),
            ("Textarea", "anything\nat all", "anything\nat all"),
            ("Phone", "+49 (0) 30 / 123-45 ext. 6", "+49 (0) 30 / 123-45 ext. 6"),
            ("Hidden", "anything", "anything"),
            ("Checkbox", "on", "on"),
            ("Checkbox", True, "true"),
            ("Email", "ada@example.com", "ada@example.com"),
            ("Email", "ada.lovelace+news@mail.example.co.uk", "ada.lovelace+news@mail.example.co.uk"),
            ("Number", "-1.5e3", "-1.5e3"),
            ("Number", "007", "007"),
            ("Number", ".5", ".5"),
            ("URL", "https://example.com/a?b=c#d", "https://example.com/a?b=c#d"),
            ("URL", "http://localhost:8000", "http://localhost:8000"),
            ("Date", "2024-02-29", "2024-02-29"),
            ("Date", "1899-12-31", "1899-12-31"),
            ("Select", "red", "red"),
            ("Select", "sky blue", "sky blue"),
            ("Select", ["red", "sky blue"], "red, sky blue"),
        ],
        3,
    ),
)
def test_declared_field__value_that_fits__is_stored_as_it_came(api: Client, kind: str, value: Any, text: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[definition(kind, required=True)])

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json={"value": value})

    assert (answer.status, answer.json()) == (201, accepted(form_id))
    assert stored_data(api, tenant, form_id) == [{"value": text}]


@pytest.mark.parametrize(
    ("kind", "value"),
    first_on_both(
        [
            *(("Email", value) for value in ("ada", "ada@", "@example.com", "a b@example.com", "a@b@example.com")),
            *(
                ("Email", value)
                for value in ("ada@example.com, bob@example.com", "ada@example.com\nBcc: x@example.com", 5)
            ),
            *(("Number", value) for value in ("five", "1,5", "0x10", "1e", "NaN", "Infinity", "--1", "\u0665", True)),
            *(
                ("URL", value)
                for value in ("example.com", "javascript:alert(1)", "ftp://example.com", "https://", "/a")
            ),
            *(
                ("Date", value)
                for value in ("2024-02-30", "2023-02-29", "20240229", "29.02.2024", "2024-2-9", 20240229)
            ),
            *(("Date", value) for value in ("2024-W09-4", "2024-02-29T00:00", "\uff12024-02-29", "0000-01-01")),
            *(("Select", value) for value in ("green", "Red", "red, sky blue", ["red", "green"], 5, True)),
        ]
    ),
)
def test_declared_field__value_that_does_not_fit__is_refused(api: Client, kind: str, value: Any) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[definition(kind)])

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json={"value": value})

    code, advice = ADVICE[kind]
    assert (answer.status, answer.json()) == (400, invalid(("value", code, f"The value {advice}.")))
    assert stored_data(api, tenant, form_id) == []


@pytest.mark.parametrize("kind", first_on_both(["Text", "Email", "Number", "Date", "Select", "Checkbox", "Hidden"]))
@pytest.mark.parametrize("body", [{}, {"value": ""}, {"value": " \t"}, {"value": None}, {"value": []}, {"value": "\0"}])
def test_required_field__without_a_value__is_refused(api: Client, kind: str, body: dict[str, Any]) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[definition(kind, required=True)])

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json={"other": "1", **body})

    assert (answer.status, answer.json()) == (400, invalid(("value", "required", "The value is required.")))
    assert stored_data(api, tenant, form_id) == []


@pytest.mark.parametrize("kind", first_on_both(["Text", "Email", "Number", "URL", "Date", "Select", "Checkbox"]))
@pytest.mark.parametrize("value", ["", " ", None])
def test_optional_field__blank__is_taken(api: Client, kind: str, value: Any) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[definition(kind)])

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json={"value": value})

    assert (answer.status, stored_data(api, tenant, form_id)) == (201, [{"value": value or ""}])


def test_declared_fields__several_wrong__are_all_told_in_the_forms_order(api: Client) -> None:
    tenant = make_tenant()
    fields = [
        {"name": "b", "label": "Your e-mail", "type": "Email", "required": True},
        {"name": "a", "label": "Name", "type": "Text", "required": True},
        {"name": "c", "label": "Age", "type": "Number", "required": False},
    ]
    form_id = tenant.form(fields=fields)

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json={"c": "old", "b": "nobody"})

    expected = invalid(
        ("b", "invalid_email", "Your e-mail must be an email address."),
        ("a", "required", "Name is required."),
        ("c", "invalid_number", "Age must be a number."),
    )
    assert (answer.status, answer.json()) == (400, expected)


def test_undeclared_fields__beside_declared_ones__are_kept(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[definition("Email", required=True)])
    body = {"extra": "kept", "value": "ada@example.com", "utm_source": "mail"}

    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json=body)

    assert (answer.status, stored_data(api, tenant, form_id)) == (201, [body])


@pytest.mark.parametrize(
    ("kind", "good", "wrong", "other"),
    first_on_both(
        [
            ("Select", ["red"], "javascript", "value\0"),
            ("Email", ["ada@example.com"], "not an address", "val\0ue"),
            ("Select", "red", ["javascript"], "value\0"),
        ]
    ),
)
def test_value__under_another_spelling_of_its_name__is_the_one_that_is_checked(
    api: Client, kind: str, good: Any, wrong: Any, other: str
) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[definition(kind)])

    for values in ({"value": good, other: wrong}, {other: good, "value": wrong}):
        answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json=values)
        assert (answer.status, answer.json()["details"][0]["code"]) == (400, ADVICE[kind][0])
    assert stored_data(api, tenant, form_id) == []
    assert api.post(f"/api/submit?formId={form_id}", tenant.key, json={other: wrong, "value": good}).status == 201
    assert stored_data(api, tenant, form_id) == [{"value": good if isinstance(good, str) else good[0]}]
