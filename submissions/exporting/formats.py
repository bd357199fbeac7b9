"""
The formats of exports: their media types, their writers, and their text in parts (docs/adr/0100).

The writers here and in `csv_lines.py` serve SQLite, and say what the quicker ones for PostgreSQL write, byte for byte.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing

from django.conf import settings
from django.db import connections
from django.db.models import QuerySet

from config.database import snapshot
from forms_app.models import Form
from submissions.exporting.csv_lines import csv_lines
from submissions.files.records import with_files
from submissions.json_text import dump_json
from submissions.models import Submission
from submissions.serializers import submission_record

ROWS_A_FETCH = 100
# JSON allows these in a string; some readers end a line at them.
LINE_BREAKS = {ord(character): f"\\u{ord(character):04x}" for character in "\u0085\u2028\u2029"}
CHUNK_CHARACTERS = 64 * 1024
Rows = QuerySet[Submission]
Parts = Generator[tuple[bytes, int], None, None]  # of the text, each with its number of rows


def json_lines(rows: Rows, _form: Form | None, _columns: Sequence[str]) -> Iterator[str]:
    """Yield a bare array of records."""
    yield "["
    for place, row in enumerate(with_files(rows.iterator(ROWS_A_FETCH))):
        yield (",\n" if place else "\n") + dump_json(submission_record(row))
    yield "\n]\n"


def ndjson_lines(rows: Rows, _form: Form | None, _columns: Sequence[str]) -> Iterator[str]:
    """Yield one record per line."""
    for row in with_files(rows.iterator(ROWS_A_FETCH)):
        yield dump_json(submission_record(row)).translate(LINE_BREAKS) + "\n"


Writer = Callable[[Rows, Form | None, Sequence[str]], Iterator[str]]
EXPORTS: dict[str, tuple[str, Writer]] = {
    "csv": ("text/csv; charset=utf-8", csv_lines),
    "json": ("application/json", json_lines),
    "ndjson": ("application/x-ndjson", ndjson_lines),
}
FRAMES = {"csv": 1, "json": 2, "ndjson": 0}  # pieces that are not rows: the header, the brackets


def snapshot_parts(rows: Rows, chosen: str, form: Form | None, columns: Sequence[str]) -> Parts:
    """Yield the text in parts of 64 to 256 KiB, or of a larger row, all read in one snapshot of the database."""
    # The parts are closed first: that cancels the statement, which the end of the transaction would wait for.
    with snapshot(settings.EXPORT) as alias, closing(parts_of(rows.using(alias), chosen, form, columns)) as parts:
        yield from parts


def parts_of(rows: Rows, chosen: str, form: Form | None, columns: Sequence[str]) -> Parts:
    """Return the text in parts with their numbers of rows, in the quickest way that the database of `rows` has."""
    if connections[rows.db].vendor != "postgresql":
        return portable_parts(rows, chosen, form, columns)
    from submissions.exporting import copied_csv, copied_records  # need psycopg, which SQLite does not

    if chosen == "csv":
        return copied_csv.copied_csv(rows, form, columns)
    return copied_records.copied_json(rows) if chosen == "json" else copied_records.copied_ndjson(rows)


def portable_parts(rows: Rows, chosen: str, form: Form | None, columns: Sequence[str]) -> Parts:
    """Yield the text in parts of about 64 KiB with their numbers of rows; on every database."""
    _, write = EXPORTS[chosen]
    waiting: list[str] = []
    size = 0
    for piece in write(rows, form, columns):
        waiting.append(piece)
        size += len(piece)
        if size >= CHUNK_CHARACTERS:
            yield "".join(waiting).encode(), len(waiting)
            waiting, size = [], 0
    yield "".join(waiting).encode(), len(waiting) - FRAMES[chosen]
