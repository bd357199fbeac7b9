"""From a parsed body to the stored values (`receiving.parse_body`): pure, and total over every body that parses."""

import json
import time
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from config.api.errors import Detail, ValidationFailed
from config.api.parsing import parse_object
from config.base.ids import Prefix, encode_id, new_id
from forms_app.field_definitions import CAPTCHA_FIELDS, CONTROL_FIELDS
from submissions.receiving.parse_body import KEPT_CONTROLS, MAX_VALUE, Intake, as_text, parse_form_id, take_in

# Every code point, surrogates and U+0000 too: JSON can carry them all as escapes.
TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=200)
NAMES = TEXTS | st.sampled_from(sorted(CONTROL_FIELDS | CAPTCHA_FIELDS)) | st.sampled_from(["_x", "e\u0301", "\u00e9"])
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
FLAT = SCALARS | st.lists(SCALARS, max_size=5)
ANY = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))


def received(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body as the submit view reads it from the wire."""
    return parse_object(json.dumps(body).encode(), numbers_as_text=True)


def is_storable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


@pytest.mark.slow
@settings(deadline=None)
@given(st.dictionaries(NAMES, ANY, max_size=12))
@example({"a": {}})
@example({"\0": "1"})
@example({f"f{number}": "" for number in range(10_000)})
@example(dict.fromkeys(["n" * 129, "\ud800" * 128], "v" * (MAX_VALUE + 1)))
def test_take_in__any_parsed_body__gives_an_intake_or_validation_failed(body: dict[str, Any]) -> None:
    result: Intake | list[Detail]
    try:
        result = take_in(received(body))
    except ValidationFailed as failure:
        result = list(failure.details)
    if not isinstance(result, Intake):
        assert 0 < len(result) <= 50
        assert all(is_storable(detail.field + detail.message) for detail in result)
        assert all(len(detail.message) < 300 for detail in result)


@settings(deadline=None)
@given(st.dictionaries(NAMES.filter(lambda name: name.replace("\0", "") != ""), FLAT, max_size=12))
@example({"a\0b": "c\0d", "e\u0301": "e\u0301", "\udfff": "\ud83d\ude00 \udc00\ud800"})
@example({"_subject": "a\0\ud800", "_next": ["\0", "\ud800"]})
def test_take_in__flat_body__stores_only_clean_text_under_composed_names(body: dict[str, Any]) -> None:
    try:
        intake = take_in(received(body))
    except ValidationFailed:
        assert any(len(unicodedata.normalize("NFC", name.replace("\0", ""))) > 128 for name in body)
        return

    texts = [*intake.values, *intake.values.values(), *intake.controls.values()]
    assert all(is_storable(text) for text in [*texts, *(member for list_ in intake.lists.values() for member in list_)])
    assert all(unicodedata.is_normalized("NFC", name) and 0 < len(name) <= 128 for name in intake.values)
    assert not intake.values.keys() & (CONTROL_FIELDS | CAPTCHA_FIELDS)
    assert intake.controls.keys() <= KEPT_CONTROLS
    assert all(isinstance(value, str) and len(value) <= MAX_VALUE for value in intake.values.values())


def test_take_in__name_of_countless_accents__is_refused_in_a_moment() -> None:
    """Unicode's composed form sorts accents in quadratic time: a name as long as a body may be would take a minute."""
    body = {"a" + "\u0301" * 20_000 + "\u0323" * 20_000: "1"}
    start = time.process_time()

    with pytest.raises(ValidationFailed):
        take_in(body)

    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(
    ("body", "values"),
    [
        (b'{"a": 1.50, "b": true, "c": null, "d": "x"}', {"a": "1.50", "b": "true", "c": "", "d": "x"}),
        (b'{"a": [1, "b", null, false]}', {"a": "1, b, , false"}),
        (b'{"z": "1", "a": "2", "m": "3"}', {"z": "1", "a": "2", "m": "3"}),
        (b'{"_x": "1", "__": "2", "_Next": "3"}', {"_x": "1", "__": "2", "_Next": "3"}),
        (b'{"_next": "/", "altcha": "t", "h-captcha-response": "t"}', {}),
    ],
)
def test_take_in__scalars_and_lists__become_these_strings(body: bytes, values: dict[str, str]) -> None:
    intake = take_in(parse_object(body, numbers_as_text=True))

    assert intake.values == values
    assert list(intake.values) == list(values)


@pytest.mark.parametrize("other", ["color\0", "co\0lor"])
@pytest.mark.parametrize(
    ("first", "last", "lists"),
    [(["red"], "blue", {}), ("blue", ["red"], {"color": ["red"]}), ([], ["a"], {"color": ["a"]})],
)
def test_take_in__two_spellings_of_a_name__are_one_whose_last_value_counts(
    other: str, first: Any, last: Any, lists: dict[str, list[str]]
) -> None:
    for body in ({"color": first, other: last}, {other: first, "color": last}):
        intake = take_in(received(body))

        assert (intake.values, intake.lists) == ({"color": last if isinstance(last, str) else last[0]}, lists)


def test_take_in__names_that_differ_in_normal_form_only__are_one_whose_last_value_counts() -> None:
    assert take_in({"\u00e9": ["1"], "e\u0301": "2"}) == take_in({"\u00e9": "2"})


def test_take_in__control_fields__keeps_what_delivery_needs() -> None:
    body = {"_next": "/n", "_subject": "S", "_replyto": "a@b.c", "_webhook": "https://x", "_altcha": "t", "_gotcha": ""}

    intake = take_in({**body, "_formId": "frm_1", "a": "1"})

    assert intake == Intake(
        values={"a": "1"},
        lists={},
        controls={"_next": "/n", "_subject": "S", "_replyto": "a@b.c", "_webhook": "https://x"},
        proofs={"_altcha": "t"},
        spam_reasons=[],
    )


@pytest.mark.parametrize(
    ("honeypot", "reasons"), [("", []), (None, []), ("\0", []), ("x", ["honeypot: _gotcha was filled in"])]
)
def test_take_in__honeypot__is_spam_when_it_was_filled_in(honeypot: str | None, reasons: list[str]) -> None:
    assert take_in({"a": "1", "_gotcha": honeypot}).spam_reasons == reasons


@settings(deadline=None)
@given(TEXTS)
def test_as_text__any_string__is_itself_when_storable(text: str) -> None:
    assert is_storable(as_text(text))
    assert as_text(text) == text or not is_storable(text)
    assert len(as_text(text)) == len(text) - text.count("\0")


@settings(deadline=None)
@given(ANY | st.dictionaries(TEXTS, SCALARS))
def test_parse_form_id__anything_but_a_forms_id__is_a_validation_failure(given_id: Any) -> None:
    with pytest.raises(ValidationFailed) as caught:
        parse_form_id(given_id)

    assert [(detail.field, detail.code) for detail in caught.value.details] == [("formId", "invalid_id")]


def test_parse_form_id__of_a_form__gives_its_uuid() -> None:
    pk = new_id()

    assert parse_form_id(encode_id(Prefix.FORM, pk)) == pk
