"""
Submissions as CSV: UTF-8 with BOM, CRLF, RFC 4180, and no cell that a spreadsheet would run.

Columns: id, formId, createdAt, the form's declared fields, then up to 500 other names in first-seen order, and all
further ones as JSON in `_more`; or those that the caller chooses (docs/contract.md 5).
"""

import csv
import dataclasses
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from django.db.models import QuerySet

from config.times import format_time
from forms_app.models import Form
from submissions.json_text import dump_json
from submissions.models import Submission
from submissions.serializers import form_id_text

BOM = "\ufeff"
OWN_COLUMNS = ("id", "formId", "createdAt")
MORE = "_more"
MAX_OTHER_NAMES = 500
ROWS_A_FETCH = 100

# Characters that a spreadsheet skips before a formula, then those that start one, half and full width.
_SKIPPED = " \u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff\u00ad\"'\u2018-\u201f"
_START = "=+\\-@\uff1d\uff0b\uff0d\uff20\u2212"
_FORMULA = re.compile(f"[{_SKIPPED}]*[{_START}\t\r\n\0]")
# Excel splits at `;` where a comma is the decimal separator, and quotes inside of a cell do not stop it. Some imports
# split at tabs or bars. For all of these a line break inside of a cell ends the row. Nothing splits a quoted cell at
# its commas.
_SPLIT_FORMULA = re.compile(f"(?<=[;\t|\r\n])(?=[{_SKIPPED}]*[{_START}])")


def safe_cell(text: str) -> str:
    """Return the text with a `'` before each part that a spreadsheet would take for a formula, if it splits there."""
    text = _SPLIT_FORMULA.sub("'", text)
    return f"'{text}" if _FORMULA.match(text) else text


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """
    The columns of a CSV: their headers, and where their values come from: whether it is ours, and its name.

    `shown`: the names that have a column, if others have not.
    """

    header: list[str]
    sources: list[tuple[bool, str]]
    shown: set[str] | None


def csv_lines(rows: QuerySet[Submission], form: Form | None, chosen: Sequence[str] = ()) -> Iterator[str]:
    """
    Yield the header, of the `chosen` columns or all, and a line for each row.

    Reads the rows twice: once for the names, unless chosen ones make these needless, and once for the values.
    """
    layout = find_layout(rows.values_list("data", flat=True).iterator(ROWS_A_FETCH), form, chosen)
    line = LineWriter()
    yield BOM + line.write(layout.header)
    for row in rows.iterator(ROWS_A_FETCH):
        yield line.write(_cells(row, layout))


def find_layout(rows: Iterable[dict[str, str]], form: Form | None, chosen: Sequence[str]) -> Layout:
    """Return the columns, the `chosen` ones or all. `rows`: the data of each row, read only if the names are needed."""
    names, has_more = (list[str](), False) if chosen and MORE not in chosen else _names(rows, form)
    header, sources = list(chosen), [source_of(column) for column in chosen]
    if not chosen:
        header = [*OWN_COLUMNS, *map(_column, names), *([MORE] if has_more else [])]
        sources = [(True, column) for column in OWN_COLUMNS]
        sources += [*((False, name) for name in names), *([(True, MORE)] if has_more else [])]
    return Layout(header, sources, set(names) if has_more else None)


def _names(rows: Iterable[dict[str, str]], form: Form | None) -> tuple[list[str], bool]:
    """Return the names of the data columns, and whether there are more names."""
    declared = [field["name"] for field in form.fields] if form else []
    others, has_more = other_names(rows, declared)
    return declared + others, has_more


def other_names(rows: Iterable[dict[str, str]], declared: list[str]) -> tuple[list[str], bool]:
    """Return the first 500 names that the form does not declare, in the order seen, and whether there are more."""
    known = set(declared)
    others: list[str] = []
    for data in rows:
        if known.issuperset(data):  # nearly all
            continue
        for name in data:
            if name in known:
                continue
            if len(others) == MAX_OTHER_NAMES:
                return others, True
            known.add(name)
            others.append(name)
    return others, False


def _column(name: str) -> str:
    return f"data.{name}" if name in OWN_COLUMNS or name == MORE else name


def source_of(column: str) -> tuple[bool, str]:
    """Return whether a column is one of ours, and the name of its values: there, or in the data."""
    name = column.removeprefix("data.")
    return column in (*OWN_COLUMNS, MORE), name if _column(name) == column else column


def _cells(row: Submission, layout: Layout) -> list[str]:
    """Return the values of a row."""
    own = {"id": row.public_id, "formId": form_id_text(row.form_id), "createdAt": format_time(row.created_at) or ""}
    if layout.shown is not None:
        own[MORE] = more_cell(row.data, layout.shown)
    return [(own if is_ours else row.data).get(name, "") for is_ours, name in layout.sources]


def more_cell(data: dict[str, str], shown: set[str]) -> str:
    """Return the values without a column as JSON, nothing if there are none."""
    rest = {name: value for name, value in data.items() if name not in shown}
    return dump_json(rest) if rest else ""


class LineWriter:
    """Writes one CSV line at a time."""

    def __init__(self) -> None:
        self._buffer = io.StringIO(newline="")
        self._writer = csv.writer(self._buffer, lineterminator="\r\n")

    def write(self, cells: Iterable[str]) -> str:
        self._writer.writerow([safe_cell(cell) for cell in cells])
        text = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return text
