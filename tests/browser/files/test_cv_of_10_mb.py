"""
A CV of 10 MB, sent in each of the four ways, is everywhere that a submission is, and gone when it is deleted.

The suites run it on local storage and on S3, on SQLite and on PostgreSQL.
"""

import hashlib
import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import expect

from config.base.ids import Prefix, decode_id
from config.files.clamd_url import read_clamd_url
from submissions.files import storage
from submissions.models import StoredFile
from tests.services.application import Application
from tests.services.clamd_server import ClamdServer
from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.services.waiting import eventually
from tests.support.browser import logged_in, person_of, place
from tests.support.chromium.line import Line
from tests.support.chromium.visitor import Visitor
from tests.support.posted_files import FILE_HEADERS, body_of, pdf
from tests.support.submitting import records
from tests.support.webhooks import register

SIZE = 10_000_000  # bytes
NAME = "CV Ada.pdf"
FIELDS = [
    {"name": "name", "label": "Name", "type": "Text", "required": True},
    {"name": "cv", "label": "CV", "type": "File", "required": True, "accept": [".pdf"]},
]
PAGE = (
    '<form{}><label>Name <input name="name"></label><label>CV <input type="file" name="cv"></label>'
    "<button>Send</button></form>"
)
NO_SCRIPT = pytest.mark.parametrize("context_options", [{"java_script_enabled": False}], indirect=True)


@pytest.fixture(scope="session")
def cv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cv") / NAME
    path.write_bytes(pdf(SIZE))
    return path


@pytest.fixture(autouse=True)
def scanner() -> Iterator[None]:
    """Run the virus scanner where the service has one."""
    address = read_clamd_url(settings.CLAMD_URL) if settings.CLAMD_URL else None
    if address is None:
        yield
        return
    assert isinstance(address, str)
    with ClamdServer(Path(address), most_bytes=2 * SIZE):
        yield


@pytest.fixture
def visitor(plain_visitor: Visitor, receiver: Receiver) -> Visitor:
    # A test is quicker than people are, whose hosted page is open for some seconds.
    plain_visitor.form_id = plain_visitor.tenant.form(fields=FIELDS, spam_protection={"minimum_seconds": 0})
    register(plain_visitor.api, plain_visitor.tenant, receiver.url(), plain_visitor.form_id)
    return plain_visitor


@pytest.fixture
def check(visitor: Visitor, receiver: Receiver, cv: Path) -> Callable[[], None]:
    """Return what checks the only submission in every place, deletes it, and waits until its bytes are gone."""
    return lambda: check_everywhere(visitor, receiver, cv.read_bytes())


def check_everywhere(visitor: Visitor, receiver: Receiver, content: bytes) -> None:
    api, tenant, form_id = visitor.api, visitor.tenant, visitor.form_id
    (record,) = eventually(lambda: records(api, tenant, form_id), because="the submission is stored")
    (file,) = record["files"]
    assert record["data"] == {"name": "Ada", "cv": NAME}
    wanted = {"field": "cv", "name": NAME, "size": SIZE, "type": "application/pdf"}
    assert {name: file[name] for name in wanted} == wanted
    assert file["sha256"] == hashlib.sha256(content).hexdigest()
    assert file["url"] == f"{settings.PUBLIC_URL}/files/{file['id']}"

    (message,) = receiver.wait_for(1)
    assert [unscanned(one) for one in json.loads(message.body)["data"]["files"]] == [unscanned(file)]
    assert downloaded(api, tenant.key, file["id"]) == content
    page = logged_in(api, person_of(tenant)).get(place(tenant, f"submissions/{record['id']}")).text
    assert NAME in page
    assert file["id"] in page
    exported = api.get(f"/api/submissions/export?format=ndjson&formId={form_id}", tenant.key)
    assert [unscanned(one) for one in json.loads(exported.body)["files"]] == [unscanned(file)]
    assert NAME in api.get(f"/api/submissions/export?format=csv&formId={form_id}", tenant.key).text

    assert api.delete(f"/api/submissions/{record['id']}", tenant.key).status == 200
    assert api.get(f"/files/{file['id']}", tenant.key).status == 404
    pk = decode_id(Prefix.FILE, file["id"])
    eventually(lambda: not StoredFile.objects.filter(pk=pk).exists(), because="its bytes and its row are deleted")
    with pytest.raises(FileNotFoundError):
        storage.open_file(pk)


def unscanned(file: dict[str, Any]) -> dict[str, Any]:
    """Leave out the result of the scan, which comes between the places."""
    return {name: value for name, value in file.items() if name != "scan"}


def downloaded(api: Client, key: str, file_id: str) -> bytes:
    """Return the bytes, from the service or from where it redirects to."""

    def answered() -> Any:
        answer = api.get(f"/files/{file_id}", key)
        return answer if answer.status != 403 else None  # withheld until it is scanned

    answer = eventually(answered, because="the file may be downloaded")
    if answer.status == 302:
        with urllib.request.urlopen(answer.headers["Location"], timeout=20) as found:
            return bytes(found.read())
    assert answer.status == 200, answer.text
    return bytes(answer.body)


@NO_SCRIPT
def test_cv__by_the_hosted_page_without_scripts__is_everywhere(
    visitor: Visitor, cv: Path, check: Callable[[], None]
) -> None:
    page = visitor.page
    page.goto(f"{visitor.service_url}/f/{visitor.form_id}")
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("CV").set_input_files(cv)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    check()


def test_cv__by_the_script_on_another_origin_over_a_cut_line__is_everywhere(
    visitor: Visitor, service: Application, cv: Path, check: Callable[[], None]
) -> None:
    with Line(service.port) as line:
        visitor.service_url, visitor.forgives = line.url, ["net::ERR", "Failed to load resource"]
        line.cuts.append(SIZE // 2)
        page = visitor.open(PAGE.format(""))
        page.locator("[name=name]").fill("Ada")
        page.locator("[name=cv]").set_input_files(cv)
        page.get_by_role("button", name="Send", exact=True).click()
        expect(visitor.thanks).to_be_visible()
        cut, whole = line.uploads
    assert cut < SIZE < whole
    check()


def test_cv__by_plain_html_on_another_origin__is_everywhere(
    visitor: Visitor, cv: Path, check: Callable[[], None]
) -> None:
    target = f"{visitor.service_url}/f/{visitor.form_id}"
    visitor.open(PAGE.format(f' action="{target}" method="post" enctype="multipart/form-data"'), tag="")
    visitor.page.locator("[name=name]").fill("Ada")
    visitor.page.locator("[name=cv]").set_input_files(cv)
    visitor.page.get_by_role("button", name="Send").click()
    expect(visitor.page.get_by_role("heading", name="Thank you")).to_be_visible()
    check()


def test_cv__by_the_api__is_everywhere(visitor: Visitor, cv: Path, check: Callable[[], None]) -> None:
    api, key, form_id = visitor.api, visitor.tenant.key, visitor.form_id
    texts = [("formId", None, form_id.encode()), ("field", None, b"cv")]
    body = body_of([*texts, ("file", NAME, cv.read_bytes())])
    upload = api.post("/api/uploads", key, data=body, headers=FILE_HEADERS)
    assert upload.status == 201, upload.text
    values = {"name": "Ada", "cv": upload.json()["data"]["id"]}
    answer = api.post(f"/api/submit?formId={form_id}", key, json=values)
    assert answer.status == 201, answer.text
    check()
