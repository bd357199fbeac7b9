"""Files from the hosted page and from the snippets of the dashboard, sent by a browser or curl without our script."""

import html
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.support.browser import logged_in, person_of, place
from tests.support.chromium.visitor import Visitor
from tests.support.tenants import UNHURRIED, text_field

PDF = b"%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
TWO: list[FilePayload] = [{"name": f"{name}.pdf", "mimeType": "application/pdf", "buffer": PDF} for name in ("a", "b")]
PICTURE: FilePayload = {"name": "a.gif", "mimeType": "image/gif", "buffer": b"GIF89a" + bytes(50)}
FIELDS = [
    text_field("name", required=True),
    text_field("cv", label="CV", type="File", required=True, accept=["application/pdf", ".docx"], maxFiles=2),
]
NO_SCRIPT = pytest.mark.parametrize("context_options", [{"java_script_enabled": False}], indirect=True)


@pytest.fixture
def visitor(plain_visitor: Visitor) -> Visitor:
    plain_visitor.form_id = plain_visitor.tenant.form(fields=FIELDS, **UNHURRIED)
    return plain_visitor


def code_of(visitor: Visitor, way: str) -> str:
    """Return the snippet as the dashboard shows it."""
    owner = logged_in(visitor.api, person_of(visitor.tenant))
    page = owner.get(place(visitor.tenant, f"forms/{visitor.form_id}?snippet={way}")).text
    (code,) = re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)
    return html.unescape(code)


def fill_in(page: Page, *files: FilePayload) -> None:
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("CV").set_input_files(files)


def send(page: Page) -> None:
    page.get_by_role("button", name="Send").click()


@NO_SCRIPT
def test_hosted_page__without_scripts__takes_files(visitor: Visitor) -> None:
    visitor.page.goto(f"{visitor.service_url}/f/{visitor.form_id}")
    fill_in(visitor.page, *TWO)
    send(visitor.page)
    expect(visitor.page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "cv": "a.pdf, b.pdf"}]


@NO_SCRIPT
def test_hosted_page__with_a_wrong_file__says_which_are_taken_and_keeps_the_text(visitor: Visitor) -> None:
    visitor.forgives = ["400"]
    page = visitor.page
    page.goto(f"{visitor.service_url}/f/{visitor.form_id}")
    fill_in(page, PICTURE)
    send(page)
    expect(page.get_by_role("alert")).to_contain_text("Your files were not kept. Choose them again before you send.")
    expect(page.get_by_label("CV")).to_have_accessible_description(re.compile("Accepted: PDF or DOCX$"))
    expect(page.get_by_label("Name")).to_have_value("Ada")
    fill_in(page, *TWO)
    send(page)
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "cv": "a.pdf, b.pdf"}]


def test_html__pasted__sends_files(visitor: Visitor) -> None:
    visitor.open(code_of(visitor, "html"), tag="")
    fill_in(visitor.page, *TWO)
    send(visitor.page)
    expect(visitor.page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "cv": "a.pdf, b.pdf"}]


def test_fetch__run_on_a_page_with_the_form__sends_its_files(visitor: Visitor) -> None:
    visitor.open(code_of(visitor, "html"), tag="")
    fill_in(visitor.page, *TWO[:1])
    visitor.page.evaluate(f"async () => {{ {code_of(visitor, 'fetch')} }}")
    assert visitor.stored() == [{"name": "Ada", "cv": "a.pdf"}]


def test_curl__run_next_to_the_file__sends_it(visitor: Visitor, tmp_path: Path) -> None:
    (tmp_path / "example.pdf").write_bytes(PDF)
    command = shlex.split(code_of(visitor, "curl"))
    subprocess.run([*command, "--fail-with-body"], cwd=tmp_path, check=True, capture_output=True)
    assert visitor.stored() == [{"name": "Hello", "cv": "example.pdf"}]
