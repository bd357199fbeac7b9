"""Cells that a spreadsheet would run (docs/contract.md 5)."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from submissions.exporting.csv_lines import csv_line, csv_text, safe_cell

STARTS = ["=", "+", "-", "@", "\t", "\r", "\n", "\0", "\uff1d", "\uff0b", "\uff0d", "\uff20"]  # four of full width
BEFORE = {
    "nothing": "",
    "a blank": " ",
    "blanks": "   ",
    "no-break space": "\u00a0",
    "narrow no-break space": "\u202f",
    "ideographic space": "\u3000",
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "quote": '"',
    "apostrophe": "'",
    "curly quotes": "\u201c\u2019",
    "all of them": " \u00a0\u200b\"'",
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE.keys())
@pytest.mark.parametrize("start", STARTS, ids=ascii)
def test_safe_cell__formula_after_anything_skipped__gets_an_apostrophe(before: str, start: str) -> None:
    text = f"{before}{start}HYPERLINK(A1)"
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("separator", [";", "\t", "|", "\n", "\r\n", "\r"], ids=ascii)
@pytest.mark.parametrize("before", ["", " ", "\u00a0", '"'], ids=ascii)
@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\uff1d"], ids=ascii)
def test_safe_cell__formula_after_a_separator__gets_an_apostrophe_there(
    separator: str, before: str, start: str
) -> None:
    cell = safe_cell(f"x{separator}{before}{start}1+1{separator}y;{start}2")
    assert cell == f"x{separator}'{before}{start}1+1{separator}y;'{start}2"


def test_safe_cell__formula_at_both_places__gets_two() -> None:
    assert safe_cell("=1;=2") == "'=1;'=2"
    assert safe_cell(";;=2") == ";;'=2"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a; b; c",
        "020 7946 0000, +1 555 0100",
        "x,=1",
        "a | b",
        "one\ntwo - three",
        " ",
        "plain",
        "1+1",
        "a=b",
        "ada@example.com",
        "'quoted'",
        '"',
        "\u00a0",
        "\u200b",
        "2026-01-31",
        "Ünïcode \uff1d",
    ],
)
def test_safe_cell__text_that_is_no_formula__stays(text: str) -> None:
    assert safe_cell(text) == text


def test_safe_cell__formula_in_a_later_line__is_none_whatever_the_line_break() -> None:
    assert safe_cell("Hello\n=1+1;x") == "Hello\n'=1+1;x"
    assert safe_cell("\n=5+5;x") == "'\n'=5+5;x"
    assert safe_cell("a\r\n\n - b") == "a\r\n\n' - b"


@given(st.lists(st.text(alphabet="=+-@;\t|\r\n ,\"x1'\u200b", max_size=12), min_size=1, max_size=3))
def test_line__read_with_any_separator__begins_no_cell_with_a_formula(cells: list[str]) -> None:
    """As LibreOffice reads: where no cell begins with a quote, each line break is a new row and quotes are text."""
    line = csv_line(["id", *cells])
    for separators in (";", "\t", "|", ";\t|"):
        found = re.split(f"[{re.escape(separators)}\r\n]", line)
        assert not [cell for cell in found if cell.lstrip(' "\u200b')[:1] in tuple("=+-@")]
    (read,) = csv.reader(io.StringIO(line, newline=""))
    assert not [cell for cell in read if cell.lstrip(' "\u200b')[:1] in tuple("=+-@")]


SPECIAL = st.text(alphabet=" '\",;|\t\r\n\0=+-@\u00a0\u00ad\u2212\uff1dax", max_size=6)


@given(st.lists(SPECIAL | st.text(max_size=8), min_size=1, max_size=12))
@example(["a|-1", "b"])
@example(["a;=1", "b"])
@example(["a\t@1", "b"])
@example([""])
def test_text__of_any_cells__is_what_csv_writes_for_the_safe_cells(cells: list[str]) -> None:
    assert csv_text([cells]) == as_csv([[cell] for cell in cells])
    assert csv_text([cells, cells[::-1]]) == as_csv(list(zip(cells, cells[::-1], strict=True)))


@pytest.mark.parametrize("start", ["=", "-", "@", "\uff1d"])
def test_text__every_character_that_a_spreadsheet_skips__is_known_in_a_column(start: str) -> None:
    cells = [f"{chr(number)}{start}1" for number in range(0x10000) if not 0xD800 <= number < 0xE000]
    assert [csv_text([[cell]]) for cell in cells] == [as_csv([[cell]]) for cell in cells]


def as_csv(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of safe cells as Python's csv writes them."""
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\r\n").writerows([safe_cell(cell) for cell in row] for row in rows)
    return file.getvalue()
