"""
JSON and NDJSON from COPY: the bytes that `formats.json_lines` and `formats.ndjson_lines` write (docs/adr/0100).

Stored JSON is text of `json_text.dump_json` already, so it is passed on as it is.
"""

import json
import uuid
from contextlib import closing
from typing import Any

from django.contrib.postgres.aggregates import JSONBAgg
from django.db.models import Case, F, OuterRef, Q, Subquery, TextField, Value, When
from django.db.models.functions import Cast, Coalesce, JSONObject

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
from submissions.exporting.copying import Joined, Parts, Rows, copy_rows
from submissions.exporting.public_ids import suffixes
from submissions.files.records import file_record
from submissions.json_text import dump_json
from submissions.models import StoredFile

START = b'{"id":"sub_'
# Where a row has files: those follow as JSON between two of these, which JSON holds only escaped.
MARK = b'"files":\x01'
MARK_END = b"\x01"
FILE_COLUMNS = ("id", "field", "name", "size", "content_type", "sha256", "scan")
# JSON allows these in a string; some readers end a line at them.
LINE_BREAKS = [(mark.encode(), f"\\u{ord(mark):04x}".encode()) for mark in "\u0085\u2028\u2029"]

_form = Kept(lambda raw: f'","formId":"{form_text(raw)}","data":'.encode())
_days = Kept(lambda day: f',"createdAt":"{day_text(day)}'.encode())
_minutes = [minute.encode() for minute in MINUTES]
_seconds = [second.encode() for second in SECONDS]


def copied_json(rows: Rows) -> Parts:
    """Yield a bare array of records."""
    before = b"[\n"
    for records, count in _parts(rows, b",\n"):
        yield before + records, count
        before = b",\n"
    yield b"[\n]\n" if before == b"[\n" else b"\n]\n", 0


def copied_ndjson(rows: Rows) -> Parts:
    """Yield one record per line."""
    for records, count in _parts(rows, b"\n"):
        lines = records + b"\n"
        if lines.count(b"\n") != count:  # JSON that an operator wrote over several lines
            lines = b"".join(_one_line(record) for record in records.split(b"\n" + START))
        if not lines.isascii():
            for mark, escaped in LINE_BREAKS:
                lines = lines.replace(mark, escaped)
        yield lines, count


def _one_line(record: bytes) -> bytes:
    return dump_json(json.loads(record if record.startswith(START) else START + record)).encode() + b"\n"


def _parts(rows: Rows, between: bytes) -> Parts:
    """Yield records, `between` them, in parts of a batch."""
    ends = [b'%03dZ"}%b%b' % (number, between, START) for number in range(1000)]
    with closing(copy_rows(rows, **HEAD_COLUMNS, rest=_rest())) as batches:
        for batch in batches:
            ids, forms, times = zip(*map(HEAD.unpack_from, batch), strict=True)
            pieces: list[Any] = [b""] * (5 * len(batch))
            pieces[0::5] = suffixes(ids)
            pieces[1::5] = [_form[form] for form in forms]
            pieces[2::5] = [row[HEAD.size :] for row in batch]
            pieces[3::5] = seconds_of(times, _days, _minutes, _seconds)
            pieces[4::5] = [ends[time % MICROSECONDS // 1000] for time in times]
            pieces[-1] = pieces[-1].removesuffix(between + START)
            records = START + b"".join(pieces)
            yield (_with_files(records) if MARK in records else records), len(batch)


def _rest() -> Joined:
    """Return the text of a record from the value of `data` to that of `meta`, which is the same for nearly all rows."""
    is_plain = Q(spam=False, files_size=0, held="", spam_reasons=[])
    plain = Value(',"files":[],"spam":false,"spamReasons":[],"held":null,"meta":')
    other = Joined(
        Value(","),
        Case(When(files_size=0, then=Value('"files":[]')), default=_files(), output_field=TextField()),
        Value(',"spam":'),
        Case(When(spam=True, then=Value("true")), default=Value("false")),
        Value(',"spamReasons":'),
        F("spam_reasons"),
        Value(',"held":'),
        Case(
            When(held="", then=Value("null")),
            default=Joined(Value('"'), F("held"), Value('"')),
            output_field=TextField(),
        ),
        Value(',"meta":'),
    )
    return Joined(F("data"), Case(When(is_plain, then=plain), default=other, output_field=TextField()), F("meta"))


def _files() -> Joined:
    """Return `"files":` with the columns of a submission's files in their order, between marks."""
    objects = JSONBAgg(JSONObject(**{name: name for name in FILE_COLUMNS}), order_by=("place", "id"))
    files = StoredFile.objects.used().filter(submission_id=OuterRef("pk")).order_by().values("submission_id")
    found = Subquery(files.annotate(found=Cast(objects, TextField())).values("found"))
    return Joined(Value(MARK.decode()), Coalesce(found, Value("[]")), Value(MARK_END.decode()))


def _with_files(records: bytes) -> bytes:
    """Return the records with their files as `file_record` shows them."""
    first, *others = records.split(MARK)
    whole = [first]
    for part in others:
        found, _, rest = part.partition(MARK_END)
        files = [StoredFile(**columns | {"id": uuid.UUID(columns["id"])}) for columns in json.loads(found)]
        whole += [b'"files":', dump_json([file_record(file) for file in files]).encode(), rest]
    return b"".join(whole)
