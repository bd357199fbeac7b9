"""
Exports: CSV, JSON, NDJSON; oldest first, one snapshot, constant memory (docs/contract.md 5).

The writers here and in `csv_lines.py` serve SQLite, and say what the quicker ones for PostgreSQL write, byte for byte
(docs/adr/0100).
"""

import datetime as dt
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.utils.text import slugify
from django.utils.translation import gettext_lazy
from rest_framework import serializers

from config.api.serializers import QuerySerializer
from config.database import snapshot
from forms_app.models import Form
from submissions.exporting.columns import ColumnsField
from submissions.exporting.csv_lines import csv_lines
from submissions.exporting.places import take_place
from submissions.exporting.producer_thread import BackgroundParts
from submissions.files.records import with_files
from submissions.json_text import dump_json
from submissions.models import Submission
from submissions.serializers import submission_record

ROWS_A_FETCH = 100
ONLY_CSV = gettext_lazy("Only CSV has columns. Leave `columns` out, or choose the format csv.")
# JSON allows these in a string; some readers end a line at them.
LINE_BREAKS = {ord(character): f"\\u{ord(character):04x}" for character in "\u0085\u2028\u2029"}
CHUNK_CHARACTERS = 64 * 1024
REPORT_SECONDS = 0.5  # between two reports of the progress
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
Progress = Callable[[int, bool], object]


def ignore(rows: int, is_whole: bool) -> None:
    """Ignore the progress of an export."""


class ExportQuery(QuerySerializer):
    """`?format=` and `?columns=`."""

    format = serializers.ChoiceField([*EXPORTS], default="csv")
    columns = ColumnsField(default=list)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse columns for a format without any: they would be ignored."""
        if attrs["columns"] and attrs["format"] != "csv":
            raise serializers.ValidationError({"columns": [ONLY_CSV]}, code="not_allowed")
        return attrs


def export_chunks(
    rows: Rows, chosen: str, form: Form | None, report: Progress = ignore, columns: Sequence[str] = ()
) -> Generator[bytes, None, None]:
    """
    Yield the export's text in chunks of 64 to 256 KiB, or of a larger row, all read in one snapshot of the database.

    `columns`: those of CSV, in their order; all without it.
    """
    # The parts are closed first: that cancels the statement, which the end of the transaction would wait for.
    with snapshot(settings.EXPORT) as alias, closing(parts_of(rows.using(alias), chosen, form, columns)) as parts:
        written, reported = 0, time.monotonic()
        for chunk, count in parts:
            yield chunk
            written += count
            if time.monotonic() - reported > REPORT_SECONDS:
                report(written, False)
                reported = time.monotonic()
        report(written, True)


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


def stream_export(
    rows: Rows,
    chosen: str,
    *,
    organization_id: uuid.UUID,
    form: Form | None,
    report: Progress = ignore,
    columns: Sequence[str] = (),
) -> StreamingHttpResponse:
    """
    Return the response that streams an export. Raises RateLimited, and errors that occur before its first part.

    `report(rows, is_whole)` is called from another thread with the number of rows written so far, at the end exact.
    """
    parts = BackgroundParts(lambda: export_chunks(rows, chosen, form, report, columns), take_place(organization_id))
    parts.check()
    response = StreamingHttpResponse(parts, content_type=EXPORTS[chosen][0])
    day = dt.datetime.now(dt.UTC).date().isoformat()
    name = slugify(form.name)[:60] if form else ""
    response.headers["Content-Disposition"] = f'attachment; filename="{name or "submissions"}-{day}.{chosen}"'
    response.headers["Cache-Control"] = "no-store"
    return response
