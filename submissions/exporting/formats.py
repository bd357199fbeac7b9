"""The formats of exports: their media types, and their text in parts (docs/adr/0100)."""

import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

import orjson
from django.conf import settings
from django.db.models import BooleanField, Case, ExpressionWrapper, OuterRef, Q, Subquery, TextField, Value, When
from django.db.models.aggregates import Aggregate
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, JSONObject

from config.base.database import snapshot
from forms_app.models import Form
from submissions.exporting.csv_lines import csv_parts
from submissions.exporting.rows import Parts, Rows, read_batches, stored_text
from submissions.files.records import file_record
from submissions.models import StoredFile, Submission
from submissions.serializers import record_of

FILE_COLUMNS = ("id", "place", "field", "name", "size", "content_type", "sha256", "scan")
# JSON allows these in a string; some readers end a line at them.
LINE_BREAKS = [(mark.encode(), f"\\u{ord(mark):04x}".encode()) for mark in "\u0085\u2028\u2029"]


def json_parts(rows: Rows, _form: Form | None, _columns: Sequence[str]) -> Parts:
    """Yield a bare array of records."""
    before = b"[\n"
    for records in _records(rows):
        yield before + b",\n".join(records), len(records)
        before = b",\n"
    yield b"[\n]\n" if before == b"[\n" else b"\n]\n", 0


def ndjson_parts(rows: Rows, _form: Form | None, _columns: Sequence[str]) -> Parts:
    """Yield one record per line."""
    for records in _records(rows):
        text = b"\n".join([*records, b""])
        if text.count(b"\n") > len(records):  # JSON that an operator wrote may have several lines
            text = b"".join(
                [orjson.dumps(orjson.loads(record), option=orjson.OPT_APPEND_NEWLINE) for record in records]
            )
        yield one_line(text), len(records)


def one_line(text: bytes) -> bytes:
    """Return JSON without characters that some readers take for line breaks; a `\\n` stays."""
    if not text.isascii():
        for mark, escaped in LINE_BREAKS:
            text = text.replace(mark, escaped)
    return text


def _records(rows: Rows) -> Generator[list[bytes], None, None]:
    """Yield the records of batches of rows. Their stored JSON is passed on as it is."""
    fragment, reasons, meta = orjson.Fragment, stored_text("spam_reasons"), stored_text("meta")
    columns = (
        stored_text("data"),
        _files(),
        "id",
        "form_id",
        "spam",
        reasons,
        "held",
        _whether(Q(counted_as=Submission.CountedAs.TEST)),
        meta,
        _whether(Q(imported_in__isnull=False)),
        "created_at",
    )
    for batch in read_batches(rows, *columns):
        yield [
            orjson.dumps(
                record_of(
                    fragment(data),
                    _read_files(files) if files else [],
                    pk,
                    form,
                    spam,
                    fragment(reasons),
                    held,
                    test,
                    fragment(meta),
                    imported,
                    created,
                )
            )
            for data, files, pk, form, spam, reasons, held, test, meta, imported, created in batch
        ]


def _whether(condition: Q) -> Combinable:
    return ExpressionWrapper(condition, output_field=BooleanField())


class _List(Aggregate):
    """A JSON array of values."""

    function = "JSON_AGG"
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, function="JSON_GROUP_ARRAY", **extra)


def _files() -> Case:
    """Return the columns of a submission's files as JSON, "" for rows without any."""
    columns = _List(JSONObject(**{name: name for name in FILE_COLUMNS}))
    files = StoredFile.objects.used().filter(submission_id=OuterRef("pk")).order_by().values("submission_id")
    found = Cast(Subquery(files.annotate(found=columns).values("found")), TextField())
    return Case(When(files_size=0, then=Value("")), default=found, output_field=TextField())


def _read_files(text: str) -> list[dict[str, Any]]:
    """Return the records of `_files` in their order."""
    files = [StoredFile(**columns | {"id": uuid.UUID(columns["id"])}) for columns in orjson.loads(text)]
    return [file_record(file) for file in sorted(files, key=lambda file: (file.place, file.pk))]


Writer = Callable[[Rows, Form | None, Sequence[str]], Parts]
EXPORTS: dict[str, tuple[str, Writer]] = {
    "csv": ("text/csv; charset=utf-8", csv_parts),
    "json": ("application/json", json_parts),
    "ndjson": ("application/x-ndjson", ndjson_parts),
}


def snapshot_parts(rows: Rows, chosen: str, form: Form | None, columns: Sequence[str]) -> Parts:
    """Yield the text in parts, all read in one snapshot of the database."""
    _, write = EXPORTS[chosen]
    # The parts are closed first: that cancels the statement, which the end of the transaction would wait for.
    with snapshot(settings.EXPORT) as alias, closing(write(rows.using(alias), form, columns)) as parts:
        yield from parts
