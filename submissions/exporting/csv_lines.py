"""
Submissions as CSV: UTF-8 with BOM, CRLF, RFC 4180, and no cell that a spreadsheet would run.

Columns: id, formId, createdAt, the form's declared fields, then up to 500 other names in first-seen order, and all
further ones as JSON in `_more`; or those that the caller chooses (docs/contract.md 5).
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Any

import orjson

from config.base.ids import Prefix, encode_id
from config.base.times import format_time
from forms_app.models import Form
from submissions.exporting.rows import Parts, Rows, read_batches, stored_text
from submissions.json_text import dump_json
from submissions.serializers import form_id_text

BOM = "\ufeff"
OWN_COLUMNS = ("id", "formId", "createdAt")
MORE = "_more"
MAX_OTHER_NAMES = 500

# Characters that a spreadsheet skips before a formula, then those that start one, half and full width.
_SKIPPED = " \u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff\u00ad\"'\u2018-\u201f"
_START = "=+\\-@\uff1d\uff0b\uff0d\uff20\u2212"
_FORMULA = re.compile(f"[{_SKIPPED}]*[{_START}\t\r\n\0]")
# Excel splits at `;` where a comma is the decimal separator, and quotes inside of a cell do not stop it. Some imports
# split at tabs or bars. For all of these a line break inside of a cell ends the row. Nothing splits a quoted cell at
# its commas.
_SPLIT_FORMULA = re.compile(f"(?<=[;\t|\r\n])(?=[{_SKIPPED}]*[{_START}])")
_FIRST_OF_CELL = re.compile(f"\0[{_SKIPPED}{_START}\t\r\n\0]")  # where a NUL is before each cell
EMPTY = '""'


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


def csv_parts(rows: Rows, form: Form | None, chosen: Sequence[str]) -> Parts:
    """
    Yield the header, of the `chosen` columns or all, then the lines of a batch of rows with their number.

    Reads the rows twice: once for the names, unless chosen ones make these needless, and once for the values.
    """
    data = stored_text("data")
    with closing(read_batches(rows, data)) as batches:
        layout = find_layout((orjson.loads(text) for batch in batches for (text,) in batch), form, chosen)
    yield (BOM + csv_line(layout.header)).encode(), 0
    for batch in read_batches(rows, data, "id", "form_id", "created_at"):
        yield csv_text(_columns(batch, layout)).encode(), len(batch)


def find_layout(rows: Iterable[dict[str, str]], form: Form | None, chosen: Sequence[str]) -> Layout:
    """Return the columns, the `chosen` ones or all. `rows`: the data of each row, read only if the names are needed."""
    names, has_more = list[str](), False
    if not chosen or MORE in chosen:
        declared = [field["name"] for field in form.fields] if form else []
        others, has_more = other_names(rows, declared)
        names = declared + others
    header, sources = list(chosen), [source_of(column) for column in chosen]
    if not chosen:
        header = [*OWN_COLUMNS, *map(_column, names), *([MORE] if has_more else [])]
        sources = [(True, column) for column in OWN_COLUMNS]
        sources += [*((False, name) for name in names), *([(True, MORE)] if has_more else [])]
    return Layout(header, sources, set(names) if has_more else None)


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


def _columns(batch: list[Any], layout: Layout) -> list[list[str]]:
    """Return the cells of each column of a batch of rows."""
    texts, ids, forms, times = zip(*batch, strict=True)
    data = [orjson.loads(text) for text in texts]
    shown = layout.shown
    own: dict[str, Callable[[], list[str]]] = {
        "id": lambda: [encode_id(Prefix.SUBMISSION, one) for one in ids],
        "formId": lambda: [form_id_text(form) for form in forms],
        "createdAt": lambda: [format_time(time) or "" for time in times],
        MORE: lambda: ["" if shown is None else more_cell(each, shown) for each in data],
    }
    return [own[name]() if is_ours else [each.get(name, "") for each in data] for is_ours, name in layout.sources]


def more_cell(data: dict[str, str], shown: set[str]) -> str:
    """Return the values without a column as JSON, nothing if there are none."""
    rest = {name: value for name, value in data.items() if name not in shown}
    return dump_json(rest) if rest else ""


def csv_line(cells: Iterable[str]) -> str:
    return csv_text([[cell] for cell in cells])


def csv_text(columns: Iterable[list[str]]) -> str:
    """Return lines of CSV of the cells of each column."""
    written = [_written(cells) for cells in columns]
    if len(written) == 1:  # an empty line would be no row
        return "".join([f"{cell or EMPTY}\r\n" for cell in written[0]])
    return "\r\n".join([*map(",".join, zip(*written, strict=True)), ""])


def _written(cells: list[str]) -> list[str]:
    """
    Return the cells of a column as CSV has them: safe, and quoted where they must be.

    Searches in the joined cells find most columns that need neither: much less work than two for each cell.
    """
    text = "\0" + "\0".join(cells)
    is_split = any(mark in text for mark in ";\t|\r\n")
    if is_split or _FIRST_OF_CELL.search(text):
        cells = [safe_cell(cell) for cell in cells]
    return [_quoted(cell) for cell in cells] if _has_to_be_quoted(text) else cells


def _has_to_be_quoted(text: str) -> bool:
    return "," in text or '"' in text or "\r" in text or "\n" in text  # as Python's csv does


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if _has_to_be_quoted(cell) else cell
