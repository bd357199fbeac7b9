"""Pages in an old charset, as Chromium sends their forms: no field, no file and no letter is lost."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.chromium.visitor import Visitor
from tests.support.posted_files import PDF, file_field

TEXTS = {"windows-1252": ("cp1252", "größe"), "Shift_JIS": ("cp932", "表示"), "gbk": ("gbk", "联通")}
PAGE = """<!doctype html><title>Old</title><form method="post" action="{action}" enctype="{enctype}">
<label>Text <input name="{text}"></label>{more}<button>Send</button></form>"""
NAMED = '<input type="hidden" name="_charset_">'


@pytest.mark.parametrize("enctype", ["multipart/form-data", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize(("label", "is_named"), [("windows-1252", False), *((label, True) for label in TEXTS)])
def test_page_in_an_old_charset__sent_by_chromium__is_stored_as_it_was_typed(
    plain_visitor: Visitor, tmp_path: Path, label: str, is_named: bool, enctype: str
) -> None:
    (codec, text), has_file = TEXTS[label], enctype.startswith("multipart")
    form_id = plain_visitor.tenant.form(fields=[file_field("cv")] if has_file else [])
    more = (NAMED if is_named else "") + ('<label>CV <input type="file" name="cv"></label>' if has_file else "")
    action = f"{plain_visitor.service_url}/f/{form_id}"
    html = PAGE.format(action=action, enctype=enctype, text=text, more=more).encode(codec)
    page = plain_visitor.page
    page.goto(plain_visitor.site.add(html, headers={"Content-Type": f"text/html; charset={label}"}))
    page.get_by_label("Text").fill(f"{text} {text}")
    expected = {text: f"{text} {text}"}
    if has_file:
        (tmp_path / f"{text}.pdf").write_bytes(PDF)
        page.get_by_label("CV").set_input_files(tmp_path / f"{text}.pdf")
        expected["cv"] = f"{text}.pdf"
    page.get_by_role("button", name="Send").click()

    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert plain_visitor.stored(form_id) == [expected]
