"""The table of field types: whole, consistent, and the only place that a new type needs (`forms_app.field_kinds`)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from config.api.serializers import validate
from dashboard.html_forms.fields import FieldRow, change_rows
from forms_app.document.bodies import FormChanges
from forms_app.field_kinds import KINDS, Check, FieldKind, FieldType, find_kind, kind_of
from forms_app.models import Form
from forms_app.snippets import example_values, plain_html
from forms_app.validation import check_values
from keys.models import Organization
from submissions.hosted.controls import controls_of
from webhooks.payloads import test_message as event_message

COLOUR = FieldKind(
    "Colour",
    "A colour",
    "Favourite colour",
    input_type="color",
    check=Check(
        "invalid_colour", "%(label)s must be a colour.", lambda value: re.fullmatch("#[0-9a-f]{6}", value) is not None
    ),
    example="#0044cc",
    test_value="#cc4400",
)


def field(kind: str, **values: Any) -> dict[str, Any]:
    options = {"options": ["red", "blue"]} if KINDS[kind].needs_options else {}
    return {"name": "f", "label": "The field", "type": kind, "required": False, **options, **values}


def form_of(definition: dict[str, Any]) -> Form:
    return Form(organization=Organization(), name="A form", fields=[definition])


def test_kinds__every_type__has_a_row_in_the_order_of_the_types() -> None:
    assert [(name, row.name) for name, row in KINDS.items()] == [(name, name) for name in FieldType.values]


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_kind__its_examples__pass_its_own_check(kind: FieldKind) -> None:
    assert kind.check is None or (kind.check.passes(kind.example) and kind.check.passes(kind.test_value))
    assert kind.takes_options or not kind.needs_options
    assert bool(kind.input_type) is (kind.control not in ("textarea", "select"))


@pytest.mark.parametrize("kind", KINDS)
def test_form_with_one_field__of_each_type__takes_its_own_examples(kind: str) -> None:
    form = form_of(field(kind))

    assert list(check_values(form.fields, example_values(form), {})) == []
    assert list(check_values(form.fields, json.loads(event_message(form))["data"]["data"], {})) == []


@pytest.mark.parametrize(("text", "found"), [("email", "Email"), ("uRL", "URL"), ("Colour", None), ("", None)])
def test_find_kind__any_case__gives_the_row(text: str, found: str | None) -> None:
    kind = find_kind(text)
    assert (kind and kind.name) == found


def test_kind_of__unknown_type__fails_instead_of_falling_back() -> None:
    with pytest.raises(KeyError):
        kind_of("Colour")


def test_documented_types__are_those_of_the_table() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "api.md").read_text()
    documented = re.search(r"`type` is one of `([^`]+)`", text)

    assert documented is not None
    assert documented[1].split() == list(KINDS)


def test_new_type__with_a_row_alone__works_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The enumeration's member is the only thing missing here: in OpenAPI it is listed from the start."""
    monkeypatch.setitem(KINDS, "Colour", COLOUR)
    form = form_of(field("Colour"))
    rows: list[FieldRow] = []

    assert [detail.message for detail in check_values(form.fields, {"f": "red"}, {})] == ["The field must be a colour."]
    assert example_values(form) == {"f": "#0044cc"}
    assert '<input type="color" name="f">' in plain_html(form)
    assert [(control.kind, control.input_type) for control in controls_of(form.fields, {})] == [("input", "color")]
    assert json.loads(event_message(form))["data"]["data"] == {"f": "#cc4400"}
    assert change_rows(rows, "add", "colour") == "Favourite colour added as field 1."
    assert rows[0].definition()["type"] == "Colour"
    assert validate(FormChanges(data={"fields": [rows[0].definition()]}))["fields"][0]["type"] == "Colour"
