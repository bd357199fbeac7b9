"""
CSV from COPY: the bytes that `csv_lines.csv_lines` writes, a batch of rows and a column at a time (docs/adr/0100).

A column whose cells, joined, show that none needs quotes or a `'` costs a few searches instead of several for each.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

import orjson
from django.db.models import F

from config.ids import Prefix
from forms_app.models import Form
from submissions.exporting.copied_rows import (
    HEAD,
    HEAD_COLUMNS,
    MICROSECONDS,
    MINUTES,
    SECONDS,
    Kept,
    day_text,
    form_text,
    seconds_of,
)
from submissions.exporting.copying import COLUMN_HEAD, ROW_HEAD, Parts, Rows, copy_rows
from submissions.exporting.csv_lines import (
    BOM,
    MORE,
    Layout,
    LineWriter,
    find_layout,
    more_cell,
    safe_cell,
)
from submissions.exporting.public_ids import suffixes

ONLY_DATA = ROW_HEAD + COLUMN_HEAD  # bytes before the value of a single column
# What `safe_cell` changes begins with one of these, or contains one of SPLITTERS.
FIRSTS = frozenset(
    one for one in map(chr, [*range(0x3001), *range(0xFE00, 0x10000)]) if safe_cell(f"{one}=") != f"{one}="
)
SPLITTERS = (";", "|", "\t", "\r", "\n")
QUOTED = (",", '"', "\r", "\n")  # cells that contain one of these are quoted, as Python's csv does
EMPTY = '""'
MILLISECONDS = [f"{number:03d}Z" for number in range(1000)]

_form = Kept(form_text)
_days = Kept(day_text)
Own = dict[str, Callable[[], list[str]]]


def copied_csv(rows: Rows, form: Form | None, chosen: Sequence[str]) -> Parts:
    """Yield the header, of the `chosen` columns or all, then the lines of a batch of rows with their number."""
    with closing(_data_of(rows)) as data:
        layout = find_layout(data, form, chosen)
    yield (BOM + LineWriter().write(layout.header)).encode(), 0
    with closing(copy_rows(rows, **HEAD_COLUMNS, data=F("data"))) as batches:
        for batch in batches:
            yield _lines(batch, layout).encode(), len(batch)


def _data_of(rows: Rows) -> Generator[dict[str, str], None, None]:
    with closing(copy_rows(rows, data=F("data"))) as batches:
        for batch in batches:
            yield from [orjson.loads(row[ONLY_DATA:]) for row in batch]


def _lines(batch: list[Any], layout: Layout) -> str:
    """Return the lines of a batch of rows."""
    ids, forms, times = zip(*map(HEAD.unpack_from, batch), strict=True)
    data = [orjson.loads(row[HEAD.size :]) for row in batch]
    shown = layout.shown or set()
    own: Own = {
        "id": lambda: [f"{Prefix.SUBMISSION}_{suffix.decode()}" for suffix in suffixes(ids)],
        "formId": lambda: [_form[form] for form in forms],
        "createdAt": lambda: [
            second + MILLISECONDS[time % MICROSECONDS // 1000]
            for second, time in zip(seconds_of(times, _days, MINUTES, SECONDS), times, strict=True)
        ],
        MORE: lambda: written([more_cell(each, shown) if layout.shown else "" for each in data]),
    }
    columns = [
        own[name]() if is_ours else written([each.get(name, "") for each in data]) for is_ours, name in layout.sources
    ]
    if len(columns) == 1:  # an empty line would be no row
        return "".join([f"{cell or EMPTY}\r\n" for cell in columns[0]])
    return "\r\n".join([*map(",".join, zip(*columns, strict=True)), ""])


def written(cells: list[str]) -> list[str]:
    """Return the cells of a column as CSV has them: safe, and quoted where they must be."""
    text = "\0".join(cells)
    if not FIRSTS.isdisjoint({cell[:1] for cell in cells}) or any(mark in text for mark in SPLITTERS):
        cells = [safe_cell(cell) if _may_be_unsafe(cell) else cell for cell in cells]
    if '"' in text:
        return [_quoted(cell) for cell in cells]
    if "," in text or "\n" in text or "\r" in text:
        return [f'"{cell}"' if "," in cell or "\n" in cell or "\r" in cell else cell for cell in cells]
    return cells


def _may_be_unsafe(cell: str) -> bool:
    return cell[:1] in FIRSTS or any(mark in cell for mark in SPLITTERS)


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in QUOTED) else cell
