"""Do submitted values fit the declared fields? (`forms_app.validation`, pure)"""

import json
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from config.api.errors import Detail
from forms_app.field_definitions import FieldDefinition
from forms_app.field_kinds import FieldType
from forms_app.formats import is_web_address
from forms_app.validation import check_values

VALIDATED = ["Email", "Number", "URL", "Date", "Select"]
TEXTS = st.text() | st.text(st.sampled_from("0123456789-+.eE:/@ htpsaW"), max_size=20)


def field(kind: str, **values: Any) -> FieldDefinition:
    options = {"options": ["red", "sky blue"]} if kind == "Select" else {}
    return {"name": "f", "label": "The field", "type": kind, "required": False, **options, **values}  # type: ignore[typeddict-item] # built from parts


def problems(definition: FieldDefinition, value: str | list[str]) -> list[str]:
    members = value if isinstance(value, list) else None
    text = ", ".join(members) if members is not None else str(value)
    return [detail.code for detail in check_values([definition], {"f": text}, {"f": members} if members else {})]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *(("Text", value) for value in ("x", "<b>", "a\nb")),
        *(("Email", value) for value in ("a@b.example", "A.B+c@sub.example.org", " a@b.example ", ["a@b.example"])),
        *(("Number", value) for value in ("0", "-1", "+1", "1.", ".5", "1e5", "1E-5", " 7 ", "9" * 400, ["1", "2"])),
        *(("URL", value) for value in ("http://a.example", "https://a.example:8/x?y#z", "http://127.0.0.1/")),
        *(("Date", value) for value in ("2024-02-29", "0001-01-01", "9999-12-31", " 2024-01-01 ")),
        *(("Select", value) for value in ("red", "sky blue", " red ", ["red", "sky blue"], ["red", "red"])),
    ],
)
def test_value__that_fits_its_type__passes(kind: str, value: str | list[str]) -> None:
    assert problems(field(kind, required=True), value) == []


@pytest.mark.parametrize(
    ("kind", "value", "code"),
    [
        *(
            ("Email", value, "invalid_email")
            for value in ("a", "a@b", "a@b.example, c@d.example", ["a@b.example", "c"])
        ),
        *(
            ("Number", value, "invalid_number")
            for value in ("", "e", ".", "+", "1 2", "1_000", "\u0661", "inf")
            if value
        ),
        *(("URL", value, "invalid_url") for value in ("a.example", "ftp://a.example", "http://", "javascript:x")),
        *(
            ("Date", value, "invalid_date")
            for value in ("2024-02-30", "2024-W01-1", "20240101", "2024-1-01", "01-01-2024")
        ),
        *(("Select", value, "invalid_choice") for value in ("RED", "blue", "red, sky blue", ["red", "blue"])),
    ],
)
def test_value__that_does_not_fit__is_told(kind: str, value: str | list[str], code: str) -> None:
    assert problems(field(kind), value) == [code]


@pytest.mark.parametrize("kind", FieldType.values)
@pytest.mark.parametrize("value", ["", " ", "\t\n", "\u00a0"])
def test_blank_value__fails_only_where_it_is_required(kind: str, value: str) -> None:
    assert problems(field(kind), value) == []
    assert problems(field(kind, required=True), value) == ["required"]


@settings(deadline=None)
@given(st.sampled_from(FieldType.values), TEXTS)
@example("Date", "2024-W09-4")
def test_any_text__passes_or_is_told__without_another_error(kind: str, value: str) -> None:
    found = list(check_values([field(kind)], {"f": value}, {}))

    assert len(found) <= 1
    assert all(isinstance(detail, Detail) and detail.field == "f" for detail in found)
    assert not found or kind in VALIDATED


@settings(deadline=None)
@given(st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False))
def test_number__any_that_json_writes__passes(number: float) -> None:
    assert problems(field("Number"), json.dumps(number)) == []


@settings(deadline=None)
@given(st.dates())
def test_date__any_day__passes_in_its_own_form_alone(day: Any) -> None:
    assert problems(field("Date"), day.isoformat()) == []
    year, week, weekday = day.isocalendar()
    assert problems(field("Date"), f"{year:04d}-W{week:02d}-{weekday}") == ["invalid_date"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("Number", "1" * 20_000 + "x"),
        ("Number", "1." * 10_000),
        ("Email", "a@" + "b." * 10_000),
        ("Email", "a." * 10_000 + "@b.example"),
        ("URL", "http://" + "a." * 10_000 + " a"),
        ("URL", "http://" + "[::" * 7_000),
        ("Date", "2" * 20_000),
        ("Select", "red, " * 4_000),
    ],
    ids=lambda value: str(value)[:12],
)
def test_long_value__made_to_be_slow__is_judged_in_a_moment(kind: str, value: str) -> None:
    """A check that backtracks takes seconds for this: one visitor could stop a whole process."""
    start = time.process_time()

    assert len(problems(field(kind), value)) == 1
    assert time.process_time() - start < 0.5


def test_fields__several_wrong__are_told_in_the_forms_order() -> None:
    fields = [field("Email", name="b", label="B"), field("Text", name="a", label="A", required=True), field("Text")]

    assert list(check_values(fields, {"f": "x", "b": "no"}, {})) == [
        Detail("b", "invalid_email", "B must be an email address.", has_subject=True),
        Detail("a", "required", "A is required.", has_subject=True),
    ]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("https://example.com/thanks", True),
        ("http://localhost:3000", True),
        ("", False),
        ("/thanks", False),
        ("//example.com", False),
        ("javascript:alert(1)", False),
        ("https://", False),
        ("https://exam ple.com", False),
        ("https://example.com\n", False),
    ],
)
def test_web_address__is_http_or_https(text: str, is_one: bool) -> None:
    assert is_web_address(text) is is_one
