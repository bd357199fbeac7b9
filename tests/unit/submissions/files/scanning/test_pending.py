"""Scanning stored files: results in their rows, leases, failures, and submissions that wait for them."""

import datetime as dt
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import time_machine
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from config.base.ids import new_id
from config.base.times import now
from submissions.files import storage
from submissions.files.removal import remove_due
from submissions.files.scanning import pending
from submissions.files.scanning.clamd import ClamdAway
from submissions.files.scanning.pending import scan_due, scan_pending
from submissions.models import StoredFile, Submission
from tests.services.clamd_server import MAX_STREAM_BYTES, VIRUS, ClamdServer
from tests.support.rows import id_at
from tests.unit.webhooks.rows import make_form, make_submission, make_webhook
from webhooks.models import Delivery
from webhooks.outbox.dispatch import dispatch_batch

pytestmark = pytest.mark.django_db
SAFE = b"%PDF-1.7 " + os.urandom(1000)


@pytest.fixture(autouse=True)
def files(settings: Settings, tmp_path: Path, clamd: ClamdServer) -> Iterator[None]:
    settings.FILES_DIR, settings.CLAMD_URL = tmp_path / "files", clamd.unix_url
    cache.clear()
    pending.refused.clear()
    yield
    pending.refused.clear()


def keep(content: bytes, submission: Submission | None = None, *, at: dt.datetime | None = None) -> StoredFile:
    """Return a stored file that is not scanned yet."""
    row = StoredFile.objects.create(
        id=id_at(at) if at else new_id(),
        organization_id=submission.organization_id if submission else new_id(),
        form_id=submission.form_id if submission else new_id(),
        submission_id=submission.pk if submission else None,
        field="cv",
        name="cv.pdf",
        size=len(content),
        content_type="application/pdf",
        sha256="0" * 64,
        scan="pending",
        stored_at=now(),
        expires_at=None if submission else now() + dt.timedelta(hours=1),
    )
    storage.keep(row.pk, io.BytesIO(content), size=len(content))
    return row


def scan_of(row: StoredFile) -> str:
    row.refresh_from_db()
    return row.scan


def test_files__pending__get_the_scanners_result() -> None:
    clean, infected = keep(SAFE), keep(b"a" + VIRUS)
    assert scan_pending() == 2
    assert (scan_of(clean), scan_of(infected)) == ("clean", "infected")
    assert scan_pending() == 0


def test_files__not_stored_yet_or_removed__are_not_read() -> None:
    arriving, removed = keep(SAFE), keep(SAFE)
    StoredFile.objects.filter(pk=arriving.pk).update(stored_at=None)
    StoredFile.objects.filter(pk=removed.pk).update(removed_at=now())
    assert scan_pending() == 0
    assert (scan_of(arriving), scan_of(removed)) == ("pending", "pending")


def test_file__that_another_process_scans__is_left_to_it() -> None:
    taken, free = keep(SAFE), keep(SAFE)
    cache.add(f"scan:{taken.pk}", 1, 60)
    assert scan_pending() == 1
    assert (scan_of(taken), scan_of(free)) == ("pending", "clean")


def test_job__while_another_process_scans__leaves_all_files_to_it() -> None:
    row = keep(SAFE)
    cache.add("scan", 1, 60)
    scan_due()
    assert scan_of(row) == "pending"
    cache.delete("scan")
    scan_due()
    assert scan_of(row) == "clean"
    assert cache.add("scan", 1, 60)  # its lease has ended


def test_run__after_half_a_minute__begins_no_further_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(SAFE)
    monkeypatch.setattr(pending, "RUN_SECONDS", -1.0)
    assert scan_pending() == 0


def test_job__of_a_host_without_the_files__tries_none_and_warns_once(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    row = keep(SAFE)
    settings.FILES_DIR = tmp_path / "elsewhere"
    for _ in range(2):
        scan_due()
        assert remove_due() == 0
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    settings.FILES_DIR = tmp_path / "files"
    scan_due()
    assert scan_of(row) == "clean"


def test_file__that_the_scanner_refuses__stays_pending_and_delays_no_other(caplog: pytest.LogCaptureFixture) -> None:
    refused, other = keep(bytes(MAX_STREAM_BYTES + 1)), keep(SAFE)
    assert scan_pending() == 1
    assert (scan_of(refused), scan_of(other)) == ("pending", "clean")
    assert "size limit exceeded" in caplog.text
    cache.clear()
    caplog.clear()
    assert scan_pending() == 0
    assert caplog.text == ""  # not tried again immediately


def test_file__without_bytes__stays_pending() -> None:
    row = keep(SAFE)
    storage.remove(row.pk)
    assert scan_pending() == 0
    assert scan_of(row) == "pending"


def test_scanner__away__leaves_files_to_the_next_round(clamd: ClamdServer) -> None:
    row = keep(SAFE)
    clamd.stop()
    try:
        with pytest.raises(ClamdAway):
            scan_pending()
    finally:
        clamd.start()
    assert scan_pending() == 1
    assert scan_of(row) == "clean"


def test_outage__of_the_scanner__is_logged_once_and_its_end_too(
    clamd: ClamdServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    keep(SAFE)
    clamd.stop()
    try:
        for _ in range(3):
            scan_due()
    finally:
        clamd.start()
    scan_due()
    lines = [record.getMessage() for record in caplog.records if record.name == pending.__name__]
    assert [line.split(";")[0] for line in lines] == ["files are not scanned", "files are scanned again"]


def test_newer_files__scanned__before_those_that_hold_no_delivery() -> None:
    old, new = keep(SAFE, at=now() - dt.timedelta(hours=1)), keep(SAFE)
    assert scan_pending() == 1
    assert (scan_of(old), scan_of(new)) == ("pending", "clean")
    assert scan_pending() == 1
    assert scan_of(old) == "clean"


@pytest.mark.parametrize("content", [SAFE, VIRUS], ids=["clean", "infected"])
def test_submission__with_a_pending_file__is_dispatched_after_its_scan(content: bytes) -> None:
    form = make_form()
    make_webhook(form)
    keep(content, make_submission(form, files_size=len(content)))
    assert dispatch_batch() == 0
    assert scan_pending() == 1
    assert dispatch_batch() == 1
    assert Delivery.objects.count() == 1


def test_submission__whose_files_are_never_scanned__is_dispatched_after_15_minutes() -> None:
    row = make_submission(make_form(), files_size=1)
    keep(SAFE, row)
    with time_machine.travel(now() + dt.timedelta(minutes=14, seconds=55)):
        assert dispatch_batch() == 0
    with time_machine.travel(now() + dt.timedelta(minutes=15, seconds=5)):
        assert dispatch_batch() == 1


def test_submissions__without_files__wait_for_nothing_and_read_no_files() -> None:
    form = make_form()
    keep(SAFE, make_submission(form, files_size=len(SAFE)))
    make_submission(form)
    assert dispatch_batch() == 1
    assert dispatch_batch() == 0


def test_submission__with_a_pending_file__is_dispatched_without_a_scanner(settings: Settings) -> None:
    settings.CLAMD_URL = ""
    keep(SAFE, make_submission(make_form(), files_size=len(SAFE)))
    with CaptureQueriesContext(connection) as queries:
        assert dispatch_batch() == 1
    assert "storedfile" not in queries.captured_queries[0]["sql"]
