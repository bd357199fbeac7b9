"""`GET /files/{id}` and the end of files (docs/contract.md 11)."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.base.ids import Prefix, encode_id
from submissions.models import StoredFile
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.processes import free_port
from tests.services.waiting import eventually
from tests.support.accounts import log_in
from tests.support.browser import Browser, person_of
from tests.support.posted_files import MIB, PDF, files_of_form, pdf, post_files
from tests.support.posted_files.uploads import form_with_files, upload
from tests.support.tenants import Tenant, make_tenant


def sent_file(api: Client, tenant: Tenant, content: bytes = PDF, name: str = "plan.pdf") -> StoredFile:
    form_id = form_with_files(tenant)
    assert post_files(api, form_id, [("cv", name, content)]).status == 201
    [row] = files_of_form(form_id)
    return row


def path_of(service: Application, row: StoredFile) -> Path:
    return Path(service.environment["DATA_DIR"]) / "files" / row.pk.hex[-2:] / row.pk.hex


def shape(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json()["error"]


def test_download__with_a_key__is_an_attachment_that_no_browser_runs(api: Client) -> None:
    tenant = make_tenant()
    row = sent_file(api, tenant, name="Prüfung “1”.pdf")

    answer = api.get(f"/files/{row.public_id}", tenant.issue("submissions:read"))

    assert (answer.status, answer.body) == (200, PDF)
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
    assert "filename*=UTF-8''Pr%C3%BCfung" in answer.headers["Content-Disposition"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["Content-Length"] == str(len(PDF))
    assert "X-RateLimit-Limit" in answer.headers


def test_download__of_a_type_that_browsers_run__is_sent_as_bytes(api: Client) -> None:
    tenant = make_tenant()
    row = sent_file(api, tenant)
    for kind in (
        "text/html",
        "image/svg+xml",
        "text/html; charset=utf-8",
        "application/xhtml+xml",
        "x\r\nSet-Cookie: a",
    ):
        StoredFile.objects.filter(pk=row.pk).update(content_type=kind)

        answer = api.get(f"/files/{row.public_id}", tenant.key)

        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    ("wanted", "status", "first", "last"),
    [
        ("bytes=0-9", 206, 0, 9),
        ("bytes=100-", 206, 100, 299_999),
        ("bytes=-50", 206, 299_950, 299_999),
        ("bytes=299999-999999999", 206, 299_999, 299_999),
        ("bytes=-999999999", 206, 0, 299_999),
        ("bytes=9-5", 200, 0, 299_999),
        ("bytes=0-1,5-6", 200, 0, 299_999),
        ("lines=0-1", 200, 0, 299_999),
    ],
)
def test_download__of_a_part__is_that_part(wanted: str, status: int, first: int, last: int, api: Client) -> None:
    tenant = make_tenant()
    content = pdf(300_000)
    row = sent_file(api, tenant, content)

    answer = api.get(f"/files/{row.public_id}", tenant.key, headers={"Range": wanted})

    assert (answer.status, answer.body) == (status, content[first : last + 1])
    if status == 206:
        assert answer.headers["Content-Range"] == f"bytes {first}-{last}/300000"


@pytest.mark.parametrize("wanted", ["bytes=300000-", "bytes=-0"])
def test_download__of_a_part_behind_the_end__is_416(wanted: str, api: Client) -> None:
    tenant = make_tenant()
    row = sent_file(api, tenant, pdf(300_000))

    answer = api.get(f"/files/{row.public_id}", tenant.key, headers={"Range": wanted})

    assert (answer.status, answer.headers["Content-Range"]) == (416, "bytes */300000")


def test_download__large__arrives_whole__and_head_has_its_size(api: Client) -> None:
    tenant = make_tenant()
    content = pdf(9 * MIB)
    row = sent_file(api, tenant, content)

    assert api.get(f"/files/{row.public_id}", tenant.key).body == content
    head = api.request("HEAD", f"/files/{row.public_id}", tenant.key)
    assert (head.status, head.headers["Content-Length"], head.body) == (200, str(9 * MIB), b"")


def test_download__of_callers_without_the_right__is_refused(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    path = f"/files/{sent_file(api, tenant).public_id}"

    assert shape(api.get(path)) == (401, "invalid_access_key")
    assert shape(api.get(path, "fp_nonsense")) == (401, "invalid_access_key")
    assert shape(api.get(path, tenant.publishable)) == (403, "forbidden")
    assert shape(api.get(path, tenant.issue("forms:read"))) == (403, "forbidden")
    assert shape(api.get(path, tenant.issue("submissions:export"))) == (403, "unauthorized")
    assert shape(api.get(path, other.key)) == (404, "not_found")
    assert shape(api.post(path, tenant.key, json={})) == (405, "method_not_allowed")
    tenant.organization.suspended_at = tenant.organization.created_at
    tenant.organization.save(update_fields=["suspended_at"])
    assert shape(api.get(path, tenant.key)) == (403, "suspended")


def test_download__of_files_that_are_not_there__is_not_found(api: Client) -> None:
    tenant = make_tenant()
    unused = upload(api, form_with_files(tenant)).json()["data"]["id"]

    for file_id in (unused, "upl_01ja0000000000000000000000", "sub_x", "..%2f..%2fenv", "upl_"):
        assert shape(api.get(f"/files/{file_id}", tenant.key)) == (404, "not_found"), file_id


def test_download__in_the_dashboard__is_for_members(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    path = f"/files/{sent_file(api, tenant).public_id}"

    sent_away = api.get(path, headers={"Accept": "text/html"})
    assert sent_away.status == 302
    assert sent_away.headers["Location"] == f"/account/login/?next={path}"
    member, stranger = Browser(api), Browser(api)
    assert log_in(member, person_of(tenant)).status == 302
    assert log_in(stranger, person_of(other)).status == 302
    assert member.get(path).body == PDF
    assert shape(stranger.get(path)) == (404, "not_found")


def test_infected_file__is_withheld(api: Client) -> None:
    tenant = make_tenant()
    row = sent_file(api, tenant)
    StoredFile.objects.filter(pk=row.pk).update(scan="infected")

    assert shape(api.get(f"/files/{row.public_id}", tenant.key)) == (403, "file_withheld")


def test_file__of_a_deleted_submission__is_gone_from_the_disk(service: Application, api: Client) -> None:
    tenant = make_tenant()
    row = sent_file(api, tenant)
    assert path_of(service, row).exists()

    assert row.submission_id
    submission = encode_id(Prefix.SUBMISSION, row.submission_id)
    assert api.delete(f"/api/submissions/{submission}", tenant.key).status == 200

    assert shape(api.get(f"/files/{row.public_id}", tenant.key)) == (404, "not_found")

    def gone() -> bool:
        return not path_of(service, row).exists() and not StoredFile.objects.filter(pk=row.pk).exists()

    eventually(gone, 15.0, "the end of the file")


FILES = "localhost"


@pytest.fixture(scope="module")
def split(shared_service: Callable[..., Application]) -> Iterator[Client]:
    """Yield a service whose files have their own origin, with its port."""
    port = free_port()
    settings = {"PORT": str(port), "PUBLIC_URL": f"http://127.0.0.1:{port}", "FILES_ORIGIN": f"http://{FILES}:{port}"}
    with Client(shared_service(**settings).port) as client:
        yield client


@pytest.mark.on_sqlite
def test_origin_of_files__serves_signed_addresses_and_nothing_else(split: Client) -> None:
    tenant = make_tenant()
    row = sent_file(split, tenant)
    origin, host = f"http://{FILES}:{split.port}", {"Host": f"{FILES}:{split.port}"}

    answer = split.get(f"/files/{row.public_id}", tenant.key)

    assert (answer.status, answer.headers["Cache-Control"]) == (302, "private, no-store")
    target = answer.headers["Location"]
    assert target.startswith(f"{origin}/files/{row.public_id}?signature=")
    path = target.removeprefix(origin)
    assert split.get(path, headers=host).body == PDF
    other = sent_file(split, tenant)
    for wrong in (
        f"/files/{row.public_id}",
        f"{path}x",
        path.replace(row.public_id, other.public_id),
        "/",
        "/dashboard/",
        "/api/me",
        f"/f/{form_with_files(tenant)}",
        "/static/brand/tokens.css",
    ):
        assert split.get(wrong, headers=host).status == 404, wrong
        assert split.get(wrong, tenant.key, headers=host).status == 404, wrong
    assert shape(split.get(path)) == (401, "invalid_access_key")  # on our own origin a signature is nothing
