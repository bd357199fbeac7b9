"""`/form.schema.json`: the JSON Schema of a form's document (docs/contract.md 4.18)."""

from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator, meta

from forms_app.field_kinds import FieldType
from tests.services.application import Application
from tests.services.client import Client
from tests.support.answers.sending import FIELDS, REPLY
from tests.support.browser import person_of
from tests.support.tenants import make_tenant

LEAST = {"name": "Orders"}
PATH = "/form.schema.json"


@pytest.fixture
def schema(api: Client) -> Any:
    answer = api.get(PATH)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/schema+json")
    return answer.json()


@pytest.mark.on_sqlite
def test_schema__names_itself_and_is_one_of_2020_12(schema: Any, service: Application) -> None:
    meta.validate(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert (schema["$id"], schema["title"]) == (f"{service.base_url}{PATH}", "FormDocument")
    assert "components" not in str(schema)


@pytest.mark.on_sqlite
def test_schema__asked_again__is_304_and_open_to_pages_of_any_origin(api: Client) -> None:
    first = api.get(PATH, headers={"Origin": "https://editor.example"})
    assert first.headers["Access-Control-Allow-Origin"] == "*"
    assert api.get(PATH, headers={"If-None-Match": first.headers["ETag"]}).status == 304
    assert api.post(PATH, json={}).status == 405


def test_schema__of_every_document_that_is_read__holds(api: Client, schema: Any) -> None:
    tenant = make_tenant()
    options = {"Select": {"options": ["a"]}, "Checkbox": {"options": ["a"]}, "File": {"accept": [".pdf"]}}
    fields = [{"label": kind, "type": kind, **options.get(kind, {})} for kind in FieldType]
    owner = person_of(tenant).email
    spam = {"captcha": "turnstile", "siteKey": "site", "secret": "0x4AAA", "maxLinks": 3, "blockedWords": ["x"]}
    whole = {"fields": FIELDS, "spam": spam, "reply": REPLY, "recipients": [{"email": owner}], "replyTo": owner}
    for key, body in (("least", {}), ("fields", {"fields": fields}), ("whole", {**whole, "accent": "#2563eb"})):
        made = api.request("PUT", f"/api/forms/by-key/{key}", tenant.key, json={**LEAST, **body})
        assert made.status == 201, made.text
        document = api.get(f"/api/forms/by-key/{key}", tenant.key).json()["data"]
        Draft202012Validator(schema).validate(document)
        Draft202012Validator(schema).validate({**LEAST, **body})


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"name": 5},
        {**LEAST, "nmae": "x"},
        {**LEAST, "status": "archived"},
        {**LEAST, "fields": [{"label": "A", "type": "Nothing"}]},
        {**LEAST, "fields": [{"label": "A", "type": "Select"}]},
        {**LEAST, "spam": {"minSeconds": "2"}},
        {**LEAST, "accent": "red"},
    ],
)
def test_schema__of_a_document_that_put_refuses__fails(schema: Any, wrong: dict[str, Any], api: Client) -> None:
    assert not Draft202012Validator(schema).is_valid(wrong)
    assert api.request("PUT", "/api/forms/by-key/orders", make_tenant().key, json=wrong).status == 400
