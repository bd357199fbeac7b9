"""Submissions with files while the virus scanner works, is killed, or never answers."""

import socket
import time
from pathlib import Path

import pytest
from django.conf import settings

from config.files.clamd_url import read_clamd_url
from submissions.models import StoredFile
from tests.services.clamd_server import VIRUS, ClamdServer
from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.services.waiting import eventually
from tests.support.posted_files import file_field, files_of_form, pdf, post_files
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant
from tests.support.webhooks import register

CLEAN = pdf(300_000)
INFECTED = CLEAN + VIRUS


@pytest.fixture
def form_id(api: Client, tenant: Tenant, receiver: Receiver) -> str:
    """Return a form whose webhook is `receiver`."""
    made = tenant.form(fields=[file_field()])
    register(api, tenant, receiver.url(), made)
    return made


def send(client: Client, form_id: str, content: bytes = CLEAN) -> StoredFile:
    """Submit a file and return its row."""
    answer = post_files(client, form_id, [("cv", "plan.pdf", content)])
    assert answer.status == 201, answer.text
    (row,) = files_of_form(form_id)
    return row


def scan_of(row: StoredFile) -> str:
    row.refresh_from_db()
    return row.scan


@pytest.mark.parametrize(("content", "result"), [(CLEAN, "clean"), (INFECTED, "infected")], ids=["clean", "infected"])
def test_submission__whose_file_is_scanned__is_delivered_within_seconds(
    clamd: ClamdServer, api: Client, tenant: Tenant, form_id: str, receiver: Receiver, content: bytes, result: str
) -> None:
    assert clamd.process is not None
    start = time.monotonic()
    row = send(api, form_id, content)
    receiver.wait_for(1)
    assert time.monotonic() - start < settings.SCAN_SECONDS
    assert scan_of(row) == result
    download = api.get(f"/files/{row.public_id}", tenant.key)
    assert download.status == (302 if result == "clean" else 403)
    assert result == "clean" or download.json()["error"] == "file_withheld"


def test_submission__while_the_scanner_is_killed__waits_for_its_time_and_is_scanned_later(
    api: Client, tenant: Tenant, form_id: str, receiver: Receiver, clamd: ClamdServer
) -> None:
    clamd.stop()
    start = time.monotonic()
    row = send(api, form_id)
    receiver.wait_for(1, timeout=settings.SCAN_SECONDS + 10)
    assert time.monotonic() - start > settings.SCAN_SECONDS - 1
    assert scan_of(row) == "pending"
    assert api.get(f"/files/{row.public_id}", tenant.key).json()["error"] == "file_withheld"
    clamd.start()
    eventually(lambda: scan_of(row) == "clean", because="the scanner is back")
    assert api.get(f"/files/{row.public_id}", tenant.key).status == 302
    assert len(receiver.requests) == 1


def test_submission__without_files__waits_for_no_scanner(
    api: Client, tenant: Tenant, form_id: str, receiver: Receiver
) -> None:
    start = time.monotonic()
    submit_and_get_id(api, tenant, form_id, {})
    receiver.wait_for(1)
    assert time.monotonic() - start < settings.SCAN_SECONDS - 1


def test_submission__while_the_scanner_never_answers__is_delivered_after_its_time(
    api: Client, form_id: str, receiver: Receiver
) -> None:
    place = read_clamd_url(settings.CLAMD_URL)
    assert isinstance(place, str)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(place)
        silent.listen()
        try:
            row = send(api, form_id)
            receiver.wait_for(1, timeout=settings.SCAN_SECONDS + 10)
        finally:
            Path(place).unlink()
    assert scan_of(row) == "pending"
