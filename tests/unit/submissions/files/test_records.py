"""Files in records: their order, and what reading them costs (docs/contract.md 11.13)."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test.utils import CaptureQueriesContext

from config.base.times import now
from forms_app.models import Form
from submissions.exporting.files_zip import count_files, zip_entries
from submissions.exporting.formats import snapshot_parts
from submissions.files.records import file_record, load_files
from submissions.files.zip_stream import zip_parts
from submissions.models import StoredFile, Submission
from submissions.reading.cursor import read_on
from submissions.reading.listing import Scope, find_page
from submissions.serializers import submission_record
from tests.support.files.rows import Sent, file_field, file_record_of, picture, put_with_files
from tests.support.rows import put
from tests.support.tenants import Tenant, make_tenant
from tests.unit.webhooks.rows import make_webhook
from webhooks.models import Message
from webhooks.outbox.dispatch import dispatch_batch

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")
NOTE = "Left out:"


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, settings: Any) -> None:
    settings.FILES_DIR = tmp_path


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def rows_of(tenant: Tenant) -> Any:
    return Submission.objects.filter(organization=tenant.organization).order_by("id")


def archive_of(tenant: Tenant) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join(zip_parts(zip_entries(rows_of(tenant), NOTE)))))


def test_files__of_a_submission__are_in_the_order_of_their_places_without_removed_ones(tenant: Tenant) -> None:
    names = ["z.pdf", "a.pdf", "gone.pdf", "m.pdf"]
    made = put_with_files(tenant, tenant.default_form_id, [Sent(name, is_kept=False) for name in names])
    StoredFile.objects.filter(name="gone.pdf").update(removed_at=now())
    assert [file.name for file in made.files] == ["z.pdf", "a.pdf", "m.pdf"]
    assert [file.name for file in load_files([made])[0].files] == ["z.pdf", "a.pdf", "m.pdf"]


def test_file_record__of_a_row__is_whole(tenant: Tenant) -> None:
    sent = picture("photo ☃.png", is_kept=False, scan="clean")
    [file] = put_with_files(tenant, tenant.default_form_id, [sent]).files
    assert file_record(file) == file_record_of(sent)
    assert file_record(file)["url"] == f"{settings.PUBLIC_URL}/files/{file.public_id}"


@pytest.mark.parametrize(("with_some", "queries"), [(0, 0), (1, 1), (3, 1)])
def test_load_files__of_a_page__is_one_query_and_none_without_files(
    tenant: Tenant, with_some: int, queries: int
) -> None:
    form = tenant.default_form_id
    for _ in range(with_some):
        put_with_files(tenant, form, [Sent(is_kept=False), Sent("b.pdf", is_kept=False)])
    put(tenant, form, {"a": "1"})
    rows = list(rows_of(tenant))
    with CaptureQueriesContext(connections["default"]) as seen:
        records = [submission_record(row) for row in load_files(rows)]
    assert len(seen) == queries
    assert [len(record["files"]) for record in records] == [2] * with_some + [0]


def read_list(tenant: Tenant) -> list[Submission]:
    return find_page(Scope(tenant.organization.pk), number=1, size=10).rows


def read_by_cursor(tenant: Tenant) -> list[Submission]:
    return read_on(Scope(tenant.organization.pk), 0, 10).rows


@pytest.mark.parametrize("read", [read_list, read_by_cursor], ids=["list", "cursor"])
def test_page__of_submissions_with_files__reads_them_with_one_query(
    tenant: Tenant, read: Callable[[Tenant], list[Submission]]
) -> None:
    for _ in range(3):
        put_with_files(tenant, tenant.default_form_id, [Sent(is_kept=False)])
    while dispatch_batch():  # gives the positions of the cursor
        pass
    read(tenant)  # the first reader of a position reads again
    with CaptureQueriesContext(connections[settings.SNAPSHOT]) as seen:
        records = [submission_record(row) for row in read(tenant)]
    assert [len(record["files"]) for record in records] == [1, 1, 1]
    assert sum("storedfile" in query["sql"] for query in seen.captured_queries) == 1


def test_dispatch__of_submissions_with_files__reads_them_with_one_query(tenant: Tenant) -> None:
    form = Form.objects.get(organization=tenant.organization, is_default=True)
    make_webhook(form)
    for _ in range(3):
        put_with_files(tenant, form.public_id, [Sent(is_kept=False)])
    with CaptureQueriesContext(connections["default"]) as seen:
        dispatch_batch()
    bodies = Message.objects.filter(submission__in=rows_of(tenant)).values_list("body", flat=True)
    assert [len(json.loads(body)["data"]["files"]) for body in bodies] == [1, 1, 1]
    assert sum("storedfile" in query["sql"] for query in seen.captured_queries) == 1


@pytest.mark.parametrize(("chosen", "queries"), [("json", 1), ("ndjson", 1), ("csv", 0)])
def test_export__with_files__asks_for_them_only_where_records_have_them(
    tenant: Tenant, chosen: str, queries: int
) -> None:
    put_with_files(tenant, tenant.default_form_id, [Sent(is_kept=False)])
    with CaptureQueriesContext(connections[settings.EXPORT]) as seen:
        text = b"".join(part for part, _ in snapshot_parts(rows_of(tenant), chosen, None, ())).decode()
    assert "cv.pdf" in text
    if connections[settings.EXPORT].vendor == "postgresql":  # streamed, past Django's cursor
        queries = 0
    assert sum("storedfile" in query["sql"] for query in seen.captured_queries) == queries


def test_zip__of_submissions__has_a_folder_each_with_unique_names_and_says_what_is_left_out(tenant: Tenant) -> None:
    form = tenant.default_form_id
    photo = picture()
    first = put_with_files(tenant, form, [Sent(content=b"%PDF-1"), Sent(content=b"%PDF-2"), photo])
    put(tenant, form, {"a": "without files"})
    second = put_with_files(
        tenant,
        form,
        [Sent("ill.pdf", scan="infected"), Sent("new.pdf", scan="pending"), Sent("gone.pdf", is_kept=False)],
    )
    day = f"{now():%Y-%m-%d}"
    one, two = f"{day} {first.public_id}", f"{day} {second.public_id}"
    archive = archive_of(tenant)
    assert archive.testzip() is None
    assert archive.namelist() == [
        f"{one}/cv.pdf",
        f"{one}/cv (2).pdf",
        f"{one}/photo.png",
        "withheld.txt",
        "missing.txt",
    ]
    assert [archive.read(name) for name in archive.namelist()[:3]] == [b"%PDF-1", b"%PDF-2", photo.content]
    assert archive.read("withheld.txt").decode().split("\r\n") == [NOTE, "", f"{two}/ill.pdf", f"{two}/new.pdf", ""]
    assert f"{two}/gone.pdf" in archive.read("missing.txt").decode()


def test_zip__of_more_submissions_than_a_batch__has_each_once_in_order(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("submissions.exporting.files_zip.SUBMISSIONS_A_FETCH", 2)
    made = [put_with_files(tenant, tenant.default_form_id, [Sent(f"{n}.pdf")]) for n in range(4)]
    names = [name.rpartition("/")[2] for name in archive_of(tenant).namelist()]
    assert (len(made), names) == (4, ["0.pdf", "1.pdf", "2.pdf", "3.pdf"])


def test_zip__without_files__is_empty(tenant: Tenant) -> None:
    put(tenant, tenant.default_form_id, {"a": "1"})
    assert archive_of(tenant).namelist() == []


def test_zip_entries__of_many__open_no_file_before_its_turn(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(3):
        put_with_files(tenant, tenant.default_form_id, [Sent(f"{n}.pdf", is_kept=False)])
    opened: list[Any] = []
    monkeypatch.setattr("submissions.exporting.files_zip.open_file", opened.append)
    entries: Iterator[tuple[str, Any, int, Callable[[], Any]]] = zip_entries(rows_of(tenant), NOTE)
    first = next(entries)
    assert opened == []
    first[3]()
    assert len(opened) == 1


def test_count_files__of_an_organization__counts_its_own_in_the_rows(tenant: Tenant) -> None:
    form = tenant.form(fields=[file_field()])
    put_with_files(tenant, form, [Sent(content=b"123", is_kept=False), Sent(content=b"4567", is_kept=False)])
    other = make_tenant()
    put_with_files(other, other.default_form_id, [Sent(is_kept=False)])
    spam = put_with_files(tenant, form, [Sent(is_kept=False)], spam=True)
    rows = Submission.objects.filter(spam=False)
    assert count_files(tenant.organization.pk, rows) == (2, 7)
    assert count_files(tenant.organization.pk, Submission.objects.filter(pk=spam.pk))[0] == 1
    assert count_files(make_tenant().organization.pk, rows) == (0, 0)
