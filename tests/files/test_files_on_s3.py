"""Uploaded files on an S3-compatible service that checks signatures, and the service gone, refusing or silent."""

import datetime as dt
import hashlib
import io
import re
import socket
import urllib.request
from collections.abc import Callable
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
import time_machine
from pytest_django import Settings

from config.base.ids import Prefix, encode_id, new_id
from config.base.times import now
from submissions.files import s3_storage, storage
from submissions.files.s3_storage import S3Files
from submissions.files.storage import FilesAway
from submissions.models import StoredFile, Submission
from tests.services.application import Application
from tests.services.clamd_server import ClamdServer
from tests.services.client import Answer, Client
from tests.services.processes import free_port
from tests.services.waiting import eventually, takes_at_most
from tests.support.posted_files import file_field, files_of_form, pdf, post_files
from tests.support.tenants import Tenant

NAME, CONTENT = "Lebenslauf é.pdf", pdf(700_000)


@pytest.fixture
def form_id(tenant: Tenant) -> str:
    return tenant.form(fields=[file_field()])


def send(client: Client, form_id: str) -> Answer:
    return post_files(client, form_id, [("cv", NAME, CONTENT)])


def sent(client: Client, form_id: str) -> StoredFile:
    """Submit a file and return its row."""
    answer = send(client, form_id)
    assert answer.status == 201, answer.text
    (row,) = files_of_form(form_id)
    return row


def link_to(row: StoredFile) -> str:
    link = storage.direct_url(row)
    assert link is not None
    return link


def content_of(row: StoredFile) -> bytes:
    with storage.open_file(row.pk) as content:
        return content.read()


def status_of(link: str) -> int:
    try:
        with urllib.request.urlopen(link, timeout=10) as answer:
            return int(answer.status)
    except HTTPError as error:
        with error:
            return error.code


def test_submission__with_a_file__has_its_bytes_in_the_bucket_and_nothing_else(api: Client, form_id: str) -> None:
    row = sent(api, form_id)
    assert (row.name, row.size, row.content_type) == (NAME, len(CONTENT), "application/pdf")
    assert row.stored_at is not None
    assert content_of(row) == CONTENT


def test_link__signed__sends_the_file_as_an_attachment(api: Client, form_id: str) -> None:
    row = sent(api, form_id)
    link = link_to(row)
    assert "X-Amz-Expires=300" in link
    with urllib.request.urlopen(link, timeout=10) as answer:
        assert answer.read() == CONTENT
        assert answer.headers["Content-Type"] == "application/pdf"
        assert answer.headers["Content-Disposition"].startswith('attachment; filename="Lebenslauf e.pdf"; filename*=')


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "application/pdf; charset=utf-8", "text/xml"])
def test_link__to_a_type_that_browsers_run__sends_bytes(api: Client, form_id: str, kind: str) -> None:
    row = sent(api, form_id)
    row.content_type = kind
    with urllib.request.urlopen(link_to(row), timeout=10) as answer:
        assert answer.headers["Content-Type"] == "application/octet-stream"


def test_download__with_a_key__leads_to_a_link_that_the_service_checks(
    api: Client, tenant: Tenant, form_id: str, clamd: ClamdServer
) -> None:
    assert clamd.process is not None
    row = sent(api, form_id)
    path = f"/files/{row.public_id}"
    eventually(lambda: api.get(path, tenant.key).status == 302, because="the file is scanned")
    link = api.get(path, tenant.key).headers["Location"]
    with urllib.request.urlopen(link, timeout=10) as answer:
        assert answer.read() == CONTENT
    assert status_of(link.replace(row.pk.hex, new_id().hex)) == 403
    assert api.get(path).status == 401


def test_link__without_its_signature_or_with_another__is_refused(api: Client, form_id: str) -> None:
    link = link_to(sent(api, form_id))
    last = "0" if link[-1] != "0" else "1"
    inline = link.replace("response-content-disposition=attachment", "response-content-disposition=inline")
    unsigned = link.partition("?")[0]
    assert inline != link
    assert [status_of(each) for each in (link[:-1] + last, inline)] == [403, 403]
    assert status_of(unsigned) == 400  # Swift does not see that such a request is for its S3 interface


def test_link__older_than_five_minutes__is_refused(api: Client, form_id: str) -> None:
    row = sent(api, form_id)
    with time_machine.travel(now() - dt.timedelta(minutes=6)):
        link = link_to(row)
    assert status_of(link) == 403


def test_file__removed__is_gone_and_may_be_removed_again(api: Client, form_id: str) -> None:
    row = sent(api, form_id)
    link = link_to(row)
    storage.remove(row.pk)
    assert status_of(link) == 404
    with pytest.raises(FileNotFoundError):
        storage.open_file(row.pk)
    storage.remove(row.pk)


def test_file__of_a_stored_id__is_not_overwritten() -> None:
    file_id = new_id()
    storage.keep(file_id, io.BytesIO(b"first"), size=5)
    with pytest.raises(FilesAway):
        storage.keep(file_id, io.BytesIO(b"other"), size=5)
    with storage.open_file(file_id) as content:
        assert content.read() == b"first"


def test_file__of_a_deleted_submission__is_deleted_from_the_bucket(api: Client, tenant: Tenant, form_id: str) -> None:
    row = sent(api, form_id)
    link = link_to(row)
    assert status_of(link) == 200
    assert row.submission_id is not None
    submission = encode_id(Prefix.SUBMISSION, row.submission_id)
    assert api.delete(f"/api/submissions/{submission}", tenant.key).status in (200, 204)
    eventually(lambda: status_of(link) == 404, because="the object is deleted")
    eventually(lambda: not StoredFile.objects.filter(pk=row.pk).exists(), because="its row is deleted")


def test_upload__to_the_service__is_signed_with_its_digest_and_without_newer_checksums() -> None:
    stored, seen = S3Files(), []
    events = stored.connection.meta.client.meta.events
    events.register("before-send.s3.PutObject", lambda request, **_: seen.append(dict(request.headers)))
    stored.save(f"ab/{new_id().hex}", io.BytesIO(CONTENT))
    (sent_headers,) = [{name.lower(): value for name, value in each.items()} for each in seen]
    assert sent_headers["x-amz-content-sha256"] == hashlib.sha256(CONTENT).hexdigest().encode()
    assert not [name for name in sent_headers if "checksum" in name or "trailer" in name or name == "content-encoding"]


def problems(client: Client) -> set[str]:
    answer = client.get("/readyz")
    assert answer.status == 200
    return {problem["code"] for problem in answer.json()["problems"]}


def test_readyz__with_the_service__has_no_problem_with_it(api: Client) -> None:
    eventually(lambda: "no_deliverer" not in problems(api))  # they were searched
    assert "files" not in problems(api)


def changed(url: str, what: str) -> str:
    """Return a FILES_URL that leads nowhere, has another secret key, or names a bucket that is not there."""
    parts = urlsplit(url)
    return {
        "away": url.replace(f":{parts.port}/", f":{free_port()}/"),
        "refused": re.sub(r"(s3://[^:]+:)[^@]+@", r"\1wrong@", url),
        "no bucket": url.replace("/files?", "/other?"),
    }[what]


@pytest.mark.parametrize("what", ["away", "refused", "no bucket"])
def test_service__that_does_not_take_files__answers_503_and_stores_nothing(
    shared_service: Callable[..., Application], files_url: str, tenant: Tenant, form_id: str, what: str
) -> None:
    broken = shared_service(FILES_URL=changed(files_url, what), CLAMD_URL="")  # it must not scan files of the others
    with Client(broken.port) as client:
        answer = send(client, form_id)
        eventually(lambda: "files" in problems(client))
    assert (answer.status, answer.json()["error"]) == (503, "service_unavailable")
    assert "Retry-After" in answer.headers
    assert not Submission.objects.filter(organization=tenant.organization).exists()
    for row in StoredFile.objects.filter(organization_id=tenant.organization.pk):
        assert (row.submission_id, row.stored_at) == (None, None)
        assert row.expires_at is not None
        assert row.expires_at < now() + dt.timedelta(hours=2)
        with pytest.raises(FileNotFoundError):
            storage.open_file(row.pk)


@pytest.mark.parametrize("what", ["away", "refused", "no bucket"])
def test_files__of_a_service_that_fails__cannot_be_removed(settings: Settings, files_url: str, what: str) -> None:
    """Otherwise their rows would be deleted before them."""
    settings.FILES_URL = changed(files_url, what)
    with pytest.raises(OSError, match=r".+") as raised:
        S3Files().delete("ab/abc")
    assert not isinstance(raised.value, FileNotFoundError)


def test_service__that_never_answers__is_given_up(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_storage, "READ_SECONDS", 0.5)

    def save() -> None:
        with pytest.raises(OSError, match="Timeout"):
            S3Files().save("ab/abc", io.BytesIO(b"content"))

    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.FILES_URL = f"s3://key:secret@127.0.0.1:{silent.getsockname()[1]}/files?scheme=http"
        assert takes_at_most(10, save)


def test_error__of_the_service__does_not_show_the_secret(settings: Settings, files_url: str) -> None:
    settings.FILES_URL = changed(files_url, "refused")
    with pytest.raises(OSError, match=r"403|Forbidden|SignatureDoesNotMatch") as raised:
        S3Files().save("ab/abc", io.BytesIO(b"content"))
    assert "wrong" not in str(raised.value)
