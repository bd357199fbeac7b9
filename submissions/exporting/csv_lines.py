"""
Submissions as CSV: UTF-8 with BOM, CRLF, RFC 4180, and no cell that a spreadsheet would run.

Columns: id, formId, createdAt, the form's declared fields, then up to 500 other names in first-seen order, and all
further ones as JSON in `_more` (docs/contract.md 5).
"""

import csv
import io
import re
from collections.abc import Iterator

from django.db.models import QuerySet

from forms_app.models import Form
from submissions.json_text import dump_json
from submissions.models import Submission
from submissions.serializers import submission_record

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
# split at tabs or bars. Nothing splits a quoted cell at its commas.
_SPLIT_FORMULA = re.compile(f"(?<=[;\t|])(?=[{_SKIPPED}]*[{_START}])")


def safe_cell(text: str) -> str:
    """Return the text with a `'` before each part that a spreadsheet would take for a formula, if it splits there."""
    text = _SPLIT_FORMULA.sub("'", text)
    return f"'{text}" if _FORMULA.match(text) else text


def csv_lines(rows: QuerySet[Submission], form: Form | None) -> Iterator[str]:
    """Yield the header and a line for each row. Reads the rows twice: once for the names, once for the values."""
    declared = [field["name"] for field in form.fields] if form else []
    others, has_more = other_names(rows, declared)
    names = declared + others
    columns = set(names) if has_more else None
    header = [*OWN_COLUMNS, *map(_column, names), *([MORE] if has_more else [])]
    line = LineWriter()
    yield BOM + line.write(header)
    for row in rows.iterator(ROWS_A_FETCH):
        yield line.write(_cells(row, names, columns))


def other_names(rows: QuerySet[Submission], declared: list[str]) -> tuple[list[str], bool]:
    """Return the first 500 names that the form does not declare, in the order seen, and whether there are more."""
    known = set(declared)
    others: dict[str, None] = {}
    for data in rows.values_list("data", flat=True).iterator(ROWS_A_FETCH):
        for name in data:
            if name in known or name in others:
                continue
            if len(others) == MAX_OTHER_NAMES:
                return list(others), True
            others[name] = None
    return list(others), False


def _column(name: str) -> str:
    return f"data.{name}" if name in OWN_COLUMNS or name == MORE else name


def _cells(row: Submission, names: list[str], columns: set[str] | None) -> list[str]:
    record = submission_record(row)
    cells = [record[column] for column in OWN_COLUMNS] + [row.data.get(name, "") for name in names]
    if columns is not None:
        rest = {name: value for name, value in row.data.items() if name not in columns}
        cells.append(dump_json(rest) if rest else "")
    return cells


class LineWriter:
    """Writes one CSV line at a time."""

    def __init__(self) -> None:
        self._buffer = io.StringIO(newline="")
        self._writer = csv.writer(self._buffer, lineterminator="\r\n")

    def write(self, cells: list[str]) -> str:
        self._writer.writerow([safe_cell(cell) for cell in cells])
        text = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return text
