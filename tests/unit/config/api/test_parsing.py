"""Strict JSON: any bytes give a dict or InvalidJson, and nothing else (`config.api.parsing`)."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from config.api.errors import InvalidJson
from config.api.parsing import MAX_DEPTH, MAX_DIGITS, NumberText, parse_object

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
OBJECTS = st.dictionaries(st.text(), VALUES)
# Bytes that look like JSON reach further into the parser than random ones.
FRAGMENTS = st.lists(
    st.sampled_from(
        [b"{", b"}", b"[", b"]", b'"a"', b":", b",", b"1e999", b"NaN", b"-", b"\\u", b'"', b"\xff", b"\x00"]
    )
).map(b"".join)


@settings(deadline=None)
@given(st.binary() | FRAGMENTS, st.booleans())
@example(b"", False)
@example(b"[" * 100_000, False)
@example(b'{"a":' * 100_000, True)
@example(b'{"a": ' + b"9" * 100_000 + b"}", True)
@example(b'{"a": 1e999999999}', False)
@example(b'{"a": "\\ud800"}', False)
@example(b"\xef\xbb\xbf", False)
def test_parse__any_bytes__give_a_dict_or_invalid_json(body: bytes, numbers_as_text: bool) -> None:
    result: dict[str, Any] | str
    try:
        result = parse_object(body, numbers_as_text=numbers_as_text)
    except InvalidJson as error:
        result = error.message
    assert isinstance(result, dict) or 0 < len(result) < 300


@pytest.mark.slow
@settings(deadline=None)
@given(OBJECTS)
def test_parse__any_object__comes_as_python_reads_it(value: dict[str, Any]) -> None:
    text = json.dumps(value)

    assert parse_object(text.encode()) == json.loads(text)
    assert parse_object(json.dumps(value, ensure_ascii=False).encode()) == value


@settings(deadline=None)
@given(st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
@example("1.50")
@example("-0")
@example("1E+2")
@example("9" * MAX_DIGITS)
def test_parse__number_as_text__stays_as_it_was_written(text: str) -> None:
    number = parse_object(b'{"n": %s}' % text.encode(), numbers_as_text=True)["n"]

    assert isinstance(number, NumberText)
    assert number == text


@pytest.mark.parametrize("numbers_as_text", [False, True])
@pytest.mark.parametrize("text", ["1e999", "-1e999", "NaN", "Infinity", "-Infinity", "9" * 5000, "-" + "9" * 5000])
def test_parse__number_that_no_database_holds__is_invalid(text: str, numbers_as_text: bool) -> None:
    with pytest.raises(InvalidJson):
        parse_object(b'{"n": %s}' % text.encode(), numbers_as_text=numbers_as_text)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")], ids=["lists", "objects"])
@pytest.mark.parametrize(("inner", "fits"), [(MAX_DEPTH - 1, True), (MAX_DEPTH, False), (5000, False)])
def test_parse__nesting__is_taken_to_32_levels(opening: bytes, closing: bytes, inner: int, fits: bool) -> None:
    body = b'{"a": ' + opening * inner + b"1" + closing * inner + b"}"

    if fits:
        assert list(parse_object(body)) == ["a"]
    else:
        with pytest.raises(InvalidJson, match="nested more than 32 levels deep"):
            parse_object(body)


def test_parse__many_brackets_side_by_side__are_not_deep() -> None:
    assert len(parse_object(b'{"a": [' + b"[]," * 999 + b"[]]}")["a"]) == 1000
    assert parse_object(b'{"a": "' + b"[" * 1000 + b'"}') == {"a": "[" * 1000}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[]", "The body must be one JSON object, not an array."),
        (b'"a"', "The body must be one JSON object, not a string."),
        (b"true", "The body must be one JSON object, not a boolean."),
        (b"null", "The body must be one JSON object, not null."),
        (b"1.5", "The body must be one JSON object, not a number."),
        (b'{"a": 1,\n "b" 2}', "The body is not JSON: Expecting ':' delimiter at line 2, column 6."),
        (b'{"a": "\xe9"}', "The body is not UTF-8 at byte 8."),
    ],
)
@pytest.mark.parametrize("numbers_as_text", [False, True])
def test_parse__what_is_wrong__is_said_with_its_place(body: bytes, message: str, numbers_as_text: bool) -> None:
    with pytest.raises(InvalidJson) as caught:
        parse_object(body, numbers_as_text=numbers_as_text)

    assert caught.value.message == message


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b'{"a": NaN}', "line 1, column 7"),
        (b'{"NaN": "\\"NaN",\n "b": NaNx', "line 2, column 7"),
        (b'{"a": 1e999"\\"\\"\\"', "line 1, column 7"),
        (b'["\\\\", 1, Infinity "', "line 1, column 11"),
    ],
)
def test_parse__refused_number__is_said_with_its_place(body: bytes, place: str) -> None:
    with pytest.raises(InvalidJson) as caught:
        parse_object(body)

    assert caught.value.message.endswith(f" See {place}.")


def test_parse__name_given_twice__counts_as_the_last() -> None:
    assert parse_object(b'{"a": 1, "b": 2, "a": 3}') == {"a": 3, "b": 2}
