"""Files that forms.js sends to the running service over a slow line that is cut."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from config.base.ids import Prefix, decode_id
from submissions.models import StoredFile
from tests.services.application import Application
from tests.support.chromium.copies import wait_for_copies
from tests.support.chromium.line import Line
from tests.support.chromium.visitor import Visitor
from tests.support.submitting import records

LARGE = 10_000_000  # bytes
HALF = LARGE // 2
SLOW = 1_250_000  # bytes a second: a large file takes eight seconds
PDF = b"%PDF-1.4\n"
CONTENTS = {
    "CV.pdf": PDF + b"x" * (LARGE - len(PDF)),
    "letter.pdf": PDF + b"a letter",
    "program.pdf": b"MZ" + bytes(2000),
}
CV, LETTER, PROGRAM = CONTENTS
FIELDS = [
    {"name": "name", "label": "Name", "type": "Text", "required": False},
    {"name": "cv", "label": "CV", "type": "File", "required": True, "accept": [".pdf"], "maxFiles": 2},
]
FORM = (
    '<form><label>Name <input name="name"></label><label>CV <input type="file" name="cv" multiple required></label>'
    "<button>Send</button></form>"
)
LINE_IS_DOWN = ["net::ERR", "Failed to load resource"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files: through the debugger's protocol they would be slow."""
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.fixture
def line(service: Application) -> Iterator[Line]:
    with Line(service.port) as line:
        yield line


@pytest.fixture
def applicant(plain_visitor: Visitor, line: Line) -> Visitor:
    """Return a visitor whose browser reaches the service over `line` only."""
    plain_visitor.service_url = line.url
    plain_visitor.form_id = plain_visitor.tenant.form(fields=FIELDS)
    plain_visitor.forgives = LINE_IS_DOWN
    return plain_visitor


def send(applicant: Visitor, *files: Path) -> Page:
    """Press the button, with these files chosen unless there are none."""
    page = applicant.page
    if files:
        page.locator("[name=cv]").set_input_files(list(files))
    page.locator("[name=name]").fill("Ada")
    page.get_by_role("button", name="Send", exact=True).click()
    return page


def taken(applicant: Visitor) -> list[tuple[str, int]]:
    """Return `(name, size)` of the files of the only submission."""
    (record,) = records(applicant.api, applicant.tenant, applicant.form_id)
    rows = StoredFile.objects.filter(submission_id=decode_id(Prefix.SUBMISSION, record["id"])).order_by("place")
    assert record["data"] == {"name": "Ada", "cv": ", ".join(row.name for row in rows)}
    return [(row.name, row.size) for row in rows]


def reach(page: Page, share: float) -> None:
    """Wait until the bar of a file has come so far."""
    page.wait_for_function("share => document.querySelector('progress:not([hidden])')?.value > share", arg=share)


def test_large_file_whose_line_is_cut_in_the_middle__arrives(applicant: Visitor, line: Line, folder: Path) -> None:
    line.cuts.append(HALF)
    applicant.open(FORM)
    send(applicant, folder / CV)
    expect(applicant.thanks).to_have_text("Submission received.")
    first, second = line.uploads
    assert HALF <= first < LARGE < second
    assert taken(applicant) == [("CV.pdf", LARGE)]


def test_large_file__shows_its_progress__and_then_arrives(applicant: Visitor, line: Line, folder: Path) -> None:
    line.bytes_per_second = SLOW
    page = applicant.open(FORM)
    send(applicant, folder / CV)
    for share in (0.2, 0.4, 0.6):
        reach(page, share)
    expect(page.locator("form")).to_have_attribute("aria-busy", "true")
    line.bytes_per_second = None
    expect(applicant.thanks).to_be_visible()
    assert len(line.uploads) == 1
    assert taken(applicant) == [("CV.pdf", LARGE)]


def test_canceled_file__stops_on_its_way(applicant: Visitor, line: Line, folder: Path) -> None:
    line.bytes_per_second = SLOW
    page = applicant.open(FORM)
    send(applicant, folder / CV)
    reach(page, 0.1)
    page.get_by_role("button", name="Cancel CV.pdf").click()
    expect(applicant.error).to_contain_text("Nothing was sent")
    page.wait_for_timeout(500)
    assert line.uploads[0] < LARGE
    assert records(applicant.api, applicant.tenant, applicant.form_id) == []


def test_reload_in_the_middle__only_the_file_that_was_cut_is_sent_again(
    applicant: Visitor, line: Line, folder: Path
) -> None:
    line.bytes_per_second = SLOW
    page = applicant.open(FORM)
    send(applicant, folder / LETTER, folder / CV)
    expect(page.locator("[data-fieldpost-file] [role=status]").first).to_have_text("letter.pdf: sent")
    reach(page, 0.1)
    wait_for_copies(page, 2)
    page.reload()
    expect(page.locator("[data-fieldpost-file] [role=status]")).to_have_text(["letter.pdf: sent"])
    assert page.locator("[name=cv]").evaluate("input => input.files.length") == 2
    line.bytes_per_second = None
    send(applicant)
    expect(applicant.thanks).to_be_visible()
    small, cut, whole = line.uploads
    assert small < cut < LARGE < whole
    assert taken(applicant) == [("letter.pdf", len(CONTENTS[LETTER])), ("CV.pdf", LARGE)]


def test_program_that_calls_itself_a_pdf__is_refused_in_the_services_words(applicant: Visitor, folder: Path) -> None:
    page = applicant.open(FORM)
    send(applicant, folder / PROGRAM)
    message = page.locator("[data-fieldpost-field-error]")
    expect(message).to_contain_text("Programs, installers and disk images are not accepted")
    expect(page.locator("[name=cv]")).to_have_attribute("aria-invalid", "true")
    assert records(applicant.api, applicant.tenant, applicant.form_id) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"allowed_origins": ["https://example.com"]}, "does not take submissions from"),
        ({"fields": [FIELDS[0], {**FIELDS[1], "maxBytes": 1_000_000}]}, "too large"),
    ],
)
def test_large_file_that_is_refused__is_sent_once__and_has_the_services_words(
    applicant: Visitor, line: Line, folder: Path, options: dict[str, Any], words: str
) -> None:
    applicant.form_id = applicant.tenant.form(**{"fields": FIELDS, **options})
    page = applicant.open(FORM)
    send(applicant, folder / CV)
    expect(page.locator("[data-fieldpost-field-error]")).to_contain_text(words)
    assert len(line.uploads) == 1


def test_form_that_asks_for_proof_of_work__gets_one_for_its_files(applicant: Visitor, line: Line, folder: Path) -> None:
    protected: dict[str, Any] = {"spam_protection": {"proof_of_work": True}}
    applicant.form_id = applicant.tenant.form(fields=FIELDS, **protected)
    applicant.forgives = [*LINE_IS_DOWN, "400"]
    applicant.open(FORM)
    send(applicant, folder / LETTER, folder / CV)
    expect(applicant.thanks).to_be_visible()
    assert sum(size > LARGE for size in line.uploads) == 1, "the large one is not sent without a proof"
    assert [name for name, _ in taken(applicant)] == ["letter.pdf", "CV.pdf"]
