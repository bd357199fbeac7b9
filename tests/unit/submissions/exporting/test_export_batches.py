"""Ids and CSV cells that are made for a batch at a time equal those that are made one by one (docs/adr/0100)."""

import csv
import io
import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from config.ids import new_id, suffix
from submissions.exporting.copied_csv import FIRSTS, SPLITTERS, written
from submissions.exporting.csv_lines import safe_cell
from submissions.exporting.public_ids import MOST, suffixes

SPECIAL = st.text(alphabet=" '\",;|\t\r\n\0=+-@\u00a0\u00ad\u2212\uff1dax", max_size=6)


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=40))
@example([bytes(16), b"\xff" * 16])
@example([new_id().bytes] * MOST)
def test_suffixes__of_any_ids__are_those_of_each(ids: list[bytes]) -> None:
    assert suffixes(ids) == [suffix(uuid.UUID(bytes=one)).encode() for one in ids]


@given(st.lists(SPECIAL | st.text(max_size=8), max_size=12))
@example(["a|-1", "b"])
@example(["a;=1", "b"])
@example(["a\t@1", "b"])
def test_written__any_cells__are_what_csv_writes_for_the_safe_cell(cells: list[str]) -> None:
    assert written(cells) == [as_csv(cell) for cell in cells]


@pytest.mark.parametrize("start", ["=", "-", "@", "\uff1d"])
def test_written__every_character_that_a_spreadsheet_skips__is_known(start: str) -> None:
    """Only cells that begin with one of FIRSTS, or contain a splitter, are given to `safe_cell`."""
    characters = [chr(number) for number in range(0x10000)]
    changed = {one for one in characters if safe_cell(f"{one}{start}1") != f"{one}{start}1"}
    assert changed <= FIRSTS | set(SPLITTERS)


def as_csv(cell: str) -> str:
    """Return a cell as Python's csv writes it between two others."""
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\r\n").writerow(["a", safe_cell(cell), "b"])
    return line.getvalue().removeprefix("a,").removesuffix(",b\r\n")
