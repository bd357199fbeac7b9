"""Exports have the bytes that Python's json and csv write of each record. The shared transaction stays usable."""

import csv
import datetime as dt
import io
import itertools
import json
import os
import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from django.db import connection, transaction

from config.base.times import now
from forms_app.models import Form
from submissions.exporting import rows as reading
from submissions.exporting.csv_lines import BOM, MORE, find_layout, more_cell, safe_cell
from submissions.exporting.formats import EXPORTS
from submissions.files.records import load_files
from submissions.json_text import dump_json
from submissions.models import StoredFile, Submission
from submissions.reading.listing import Holding, Scope
from submissions.serializers import submission_record
from tests.support.files.rows import Sent, put_with_files
from tests.support.rows import put_many, row
from tests.support.tenants import Tenant, make_tenant, text_field

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
LINE_BREAKS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\u0085\u2028\u2029"}

STARTS = [
    "=1+1",
    "+1",
    "-1",
    "@x",
    "\t=1",
    "\r=1",
    "\n=1",
    "\0=1",
    "\uff1d1",
    "\uff0b1",
    "\uff0d1",
    "\uff201",
    "\u22121",
]
BEFORE = ["", " ", "\u00a0", "\u200b", "\u2060", "\u3000", "\ufeff", "\u00ad", '"', "'", "\u201c", "\u2019", "\u1680"]
HOSTILE = [
    *("", " ", "plain", "a,b", 'say "hi"', '"', '""', ",", "\r\n", "\n", "\r", "\t", "one\r\ntwo\n,three", "\\", "\\n"),
    *(";=1", "x;y", "x; =1", "a\t=1", "a|-1", "a|b", ';"=1', "x;\u00a0@y", "'quoted'", "\x01", "\x02", "\x01\x02,\x7f"),
    *("".join(map(chr, range(32))), "\x7f\x80\x85\x9f", "\u2028\u2029\u0085", "e\u0301", "Ünïcode ☃ 😀", "\U0010ffff"),
    *("\U0001f469\u200d\U0001f467", "\u202eevil", "مرحبا، عالم", "שלום", "\u6f22\u5b57", "\u1680x", "\ufeffx"),
    *("null", "true", "1.0", "1e400", "-0", "[1,2]"),
    *('{"a":"b"}', '","files":[],"spam":true', '"files":\x01[]\x01', '{"id":"sub_', "x" * 300_000, "é" * 70_000),
    *(before + start for before, start in itertools.product(BEFORE, STARTS)),
]  # fmt: skip
NAMES = [
    "name",
    "id",
    "formId",
    "createdAt",
    "_more",
    "data.x",
    "a,b",
    'q"q',
    "=1",
    "ünï",
    "",
    " ",
    "\n",
    "\u2028",
    "x" * 128,
]


def both(rows: Any, chosen: str, form: Form | None = None, columns: Sequence[str] = ()) -> tuple[bytes, bytes]:
    """Return the export, and the same by Python's own writers."""
    with transaction.atomic():
        made = list(EXPORTS[chosen][1](rows.order_by("id"), form, columns))
    expected = WRITERS[chosen](load_files(rows.order_by("id")), form, columns)
    assert sum(count for _, count in made) == rows.count()
    return b"".join(part for part, _ in made), expected.encode()


def as_json(rows: list[Submission], _form: Form | None, _columns: Sequence[str]) -> str:
    return "[" + ",".join(f"\n{dump_json(submission_record(row))}" for row in rows) + "\n]\n"


def as_ndjson(rows: list[Submission], _form: Form | None, _columns: Sequence[str]) -> str:
    return "".join(f"{dump_json(submission_record(row)).translate(LINE_BREAKS)}\n" for row in rows)


def as_csv(rows: list[Submission], form: Form | None, columns: Sequence[str]) -> str:
    layout = find_layout([one.data for one in rows], form, columns)
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    lines: list[Iterable[str]] = [layout.header]
    for one in rows:
        own = {**submission_record(one), MORE: more_cell(one.data, layout.shown) if layout.shown else ""}
        lines.append([(own if is_ours else one.data).get(name, "") for is_ours, name in layout.sources])
    writer.writerows([safe_cell(cell) for cell in line] for line in lines)
    return BOM + file.getvalue()


WRITERS = {"csv": as_csv, "json": as_json, "ndjson": as_ndjson}


def assert_equal(made: bytes, expected: bytes) -> None:
    """Compare without pytest's difference of megabytes."""
    at = next((place for place, (a, b) in enumerate(zip(made, expected, strict=False)) if a != b), None)
    at = min(len(made), len(expected)) if at is None and len(made) != len(expected) else at
    assert at is None, (made[max(0, at - 80) : at + 80], expected[max(0, at - 80) : at + 80])


def rows_of(tenant: Tenant) -> Any:
    return Submission.objects.filter(organization=tenant.organization)


@pytest.fixture(scope="module")
def seed() -> int:
    """Return the seed of the run: the same as long as nobody asks for another."""
    return int(os.environ.get("FUZZING_SEED") or 1)


@pytest.fixture
def hostile(seed: int) -> Tenant:
    """Return an organization with two forms and every hostile value in some row, as value and as name."""
    dice = random.Random(seed)
    print(f"seed {seed}")
    tenant = make_tenant()
    forms = [tenant.form(fields=[{**text_field("name"), "required": False}]), tenant.form()]
    made = []
    for number, value in enumerate([*HOSTILE, *HOSTILE]):
        names = dice.sample(NAMES, dice.randrange(len(NAMES)))
        data = {name: dice.choice(HOSTILE[:50]) for name in names} | {dice.choice(NAMES): value}
        at = now() - dt.timedelta(milliseconds=dice.randrange(10**10))
        one = row(tenant, forms[number % 2], data, at if number % 3 else None, spam=number % 5 == 0)
        one.search_text = one.search_text.replace("\0", "")[:5_000]
        one.meta = {"ip": dice.choice([None, "::1"]), "userAgent": value[:300], "origin": None, "referer": "\u2028"}
        one.held = dice.choice([*Submission.Held.values, ""]) if not one.spam else ""
        one.spam_reasons = ["honeypot: " + value[:50], "\u0085"] if one.spam else dice.choice([[], ["links"]])
        one.is_read = bool(number % 4)
        one.created_at = dice.choice([one.created_at, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC)])
        made.append(one)
    made[0].data, made[1].meta = {}, {}
    Submission.objects.bulk_create(made)
    return tenant


@pytest.mark.parametrize("chosen", EXPORTS)
def test_export__hostile_values_and_names__are_the_bytes_of_pythons_writers(hostile: Tenant, chosen: str) -> None:
    assert_equal(*both(rows_of(hostile), chosen))
    for form in Form.objects.filter(organization=hostile.organization):
        assert_equal(*both(rows_of(hostile).filter(form=form), chosen, form))


def test_export__every_filter__has_the_same_rows(hostile: Tenant) -> None:
    organization = hostile.organization.pk
    form = Form.objects.get(pk=rows_of(hostile).order_by("id").values("form_id")[:1])
    day = now() - dt.timedelta(days=30)
    spans: list[tuple[dt.datetime | None, dt.datetime | None]] = [(None, None), (day, None), (day, now())]
    every = itertools.product(Holding, [None, True, False], spans, ["", "100%", "x;y"], [False, True])
    for held, spam, (since, until), text, unread in every:
        scope = Scope(organization, form.pk, spam, held, since, until, text, unread=unread)
        assert_equal(*both(scope.rows(), "ndjson", form))
    for chosen in EXPORTS:
        assert_equal(*both(rows_of(hostile).filter(pk__in=[]), chosen))


@pytest.mark.parametrize(
    "columns", [["id"], ["name"], ["nobody"], ["data.id", "name", "id", "name", "a,b", "=1", "createdAt"], ["_more"]]
)
def test_export__chosen_columns__are_the_same(hostile: Tenant, columns: list[str]) -> None:
    assert_equal(*both(rows_of(hostile), "csv", None, columns))


@pytest.mark.parametrize("columns", [[], ["_more", "n7", "n777"]])
def test_export__more_names_than_columns__have_the_same_more(columns: list[str]) -> None:
    tenant = make_tenant()
    put_many(tenant, tenant.default_form_id, ({f"n{n * 7 + m}": f";={n}" for m in range(9)} for n in range(3_000)))
    made, expected = both(rows_of(tenant), "csv", None, columns)
    assert b"_more" in made[:9_000]
    assert_equal(made, expected)


@pytest.mark.parametrize("chosen", EXPORTS)
def test_export__files__are_the_same(chosen: str, tmp_path: Any, settings: Any) -> None:
    settings.FILES_DIR = tmp_path
    tenant = make_tenant()
    form = tenant.default_form_id
    for names in (["a.pdf", "b.pdf"], ['"q",\u2028\\.pdf', "gone.pdf", "\x01.pdf"], ["gone.pdf"]):
        put_with_files(tenant, form, [Sent(name, is_kept=False) for name in names], {"x": '"files":\x01'})
        put_many(tenant, form, [{"n": "1"}])
    StoredFile.objects.filter(name="gone.pdf").update(removed_at=now())
    made, expected = both(rows_of(tenant), chosen)
    assert (chosen == "csv") or expected.count(b'"sha256":') == 4
    assert_equal(made, expected)


def test_export__batches_of_any_size__are_the_same(hostile: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    for rows, size in ((1, 1), (2, 10**9), (7, 10**9), (1024, 1000), (1024, 10**9)):
        monkeypatch.setattr(reading, "BATCH_ROWS", rows)
        monkeypatch.setattr(reading, "BATCH_CHARACTERS", size)
        for chosen in EXPORTS:
            assert_equal(*both(rows_of(hostile), chosen))


def test_export__json_that_an_operator_wrote_by_hand__stays_on_one_line() -> None:
    tenant = make_tenant()
    put_many(tenant, tenant.default_form_id, [{"n": "1"}, {"n": "2"}, {"n": "3"}])
    with connection.cursor() as cursor:
        by_hand = ['{"n":\n "2"}', '{"n":"2"}']
        cursor.execute("UPDATE submissions_submission SET data = %s WHERE data = %s", by_hand)
    made, expected = both(rows_of(tenant), "ndjson")
    assert_equal(made, expected)
    assert [json.loads(line)["data"]["n"] for line in made.splitlines()] == ["1", "2", "3"]


def test_export__closed_in_the_middle__leaves_the_transaction_usable() -> None:
    tenant = make_tenant()
    put_many(tenant, tenant.default_form_id, [{"text": "x" * 50_000}] * 200)
    with transaction.atomic():
        parts = EXPORTS["ndjson"][1](rows_of(tenant).order_by("id"), None, ())
        next(parts)
        parts.close()
        assert rows_of(tenant).count() == 200
