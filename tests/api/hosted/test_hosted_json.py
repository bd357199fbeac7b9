"""`POST /f/{formId}` for clients of JSON: shapes and codes of Formspree's clients (docs/contract.md 6.12)."""

from typing import Any

import pytest

from tests.services.client import Client
from tests.support.hosted_posts import FIELDS, GOOD, SHOP, WANTS_JSON, accepted_json, ask, multipart, post, refused_json
from tests.support.replies import unknown_id
from tests.support.submitting import stored_data
from tests.support.tenants import make_tenant


@pytest.mark.parametrize("style", ["urlencoded", "multipart", "JSON"])
def test_every_fetch_style__asking_for_json__is_answered_with_it(api: Client, style: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS, success_message="Danke")
    path = f"/f/{form_id}"

    if style == "JSON":
        answer = api.post(path, json=GOOD, headers={"Origin": "https://shop.example"})
    elif style == "multipart":
        body, headers = multipart(GOOD)
        answer = api.post(path, data=body, headers=headers | WANTS_JSON)
    else:
        answer = ask(api, form_id, GOOD)

    thanks = f"http://127.0.0.1:{api.port}/f/{form_id}/thanks"
    assert (answer.status, answer.json()) == (201, accepted_json(form_id, thanks, "Danke"))
    assert stored_data(api, tenant, form_id) == [GOOD]


def test_next__is_where_a_browser_would_have_gone(api: Client) -> None:
    form_id = make_tenant().form(redirect_url="https://shop.example/default")

    assert ask(api, form_id, GOOD).json()["next"] == "https://shop.example/default"
    assert ask(api, form_id, GOOD | {"_next": "/t"}, **SHOP).json()["next"] == "https://shop.example/t"


def test_fields_in_error__have_the_codes_that_formspree_knows(api: Client) -> None:
    fields: list[dict[str, Any]] = [*FIELDS, {"name": "age", "label": "Age", "type": "Number", "required": False}]
    form_id = make_tenant().form(fields=fields)

    answer = ask(api, form_id, {"name": " ", "email": "wrong", "age": "old"})

    errors = [
        {"code": "REQUIRED_FIELD_MISSING", "field": "name", "message": "Name is required."},
        {"code": "TYPE_EMAIL", "field": "email", "message": "Email must be an email address."},
        {"code": "TYPE_NUMERIC", "field": "age", "message": "Age must be a number."},
    ]
    assert (answer.status, answer.json()) == (400, refused_json("validation_error", "Name is required.", *errors))


def test_file__is_refused_as_a_problem_of_the_form__where_formsprees_clients_show_it(api: Client) -> None:
    body, headers = multipart({"a": "1"}, {"cv": ("cv.pdf", "%PDF")})

    answer = api.post(f"/f/{make_tenant().form()}", data=body, headers=headers | WANTS_JSON)

    message = "Files cannot be sent with this form. Remove the file from “cv”, then send it again."
    error = {"code": "NO_FILE_UPLOADS", "message": message}
    assert (answer.status, answer.json()) == (400, refused_json("validation_error", message, error))


@pytest.mark.parametrize(
    ("case", "status", "error", "code"),
    [
        ("unknown", 404, "not_found", "FORM_NOT_FOUND"),
        ("draft", 403, "form_not_published", "INACTIVE"),
        ("empty", 400, "empty_submission", "EMPTY"),
        ("foreign", 403, "origin_not_allowed", "BLOCKED"),
    ],
)
def test_form_in_error__has_the_code_that_formspree_knows(
    api: Client, case: str, status: int, error: str, code: str
) -> None:
    tenant = make_tenant()
    origins = ["https://shop.example"] if case == "foreign" else []
    form_id = (
        unknown_id("frm") if case == "unknown" else tenant.form(published=case != "draft", allowed_origins=origins)
    )

    answer = ask(api, form_id, {} if case == "empty" else {"a": "1"})

    message = answer.json()["message"]
    assert message
    assert (answer.status, answer.json()) == (status, refused_json(error, message, {"code": code, "message": message}))


def test_malformed_json__and_an_object_as_value__are_told(api: Client) -> None:
    form_id = make_tenant().form()

    malformed = api.post(f"/f/{form_id}", data="{", headers={"Content-Type": "application/json"})
    nested = api.post(f"/f/{form_id}", json={"a": {"b": 1}})

    assert (malformed.status, malformed.json()["error"]) == (400, "invalid_json")
    assert (nested.status, nested.json()["errors"][0]["code"]) == (400, "TYPE_TEXT")


def test_bot__is_answered_like_everybody(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = ask(api, form_id, {"a": "1", "_gotcha": "x"})

    thanks = f"http://127.0.0.1:{api.port}/f/{form_id}/thanks"
    assert (answer.status, answer.json()) == (201, accepted_json(form_id, thanks))


def test_preflight__of_formsprees_headers__is_allowed(api: Client) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "formspree-client,content-type"}

    answer = api.options(f"/f/{make_tenant().form()}", headers={"Origin": "https://shop.example", **asked})

    assert answer.status == 204
    assert answer.headers["Access-Control-Allow-Headers"] == "formspree-client,content-type"
    assert post(api, unknown_id("frm"), {"a": "1"}).headers["Access-Control-Allow-Origin"] == "*", "on errors too"
