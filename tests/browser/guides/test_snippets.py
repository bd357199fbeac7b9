"""The code that a form's overview shows: each way, pasted as it is, sends the form from a page in Chromium."""

import html
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.guides.components import open_component
from tests.support.browser import logged_in, person_of, place
from tests.support.chromium.coverage import TOOLS
from tests.support.chromium.visitor import Visitor

HOSTILE = "</form>{alert(1)} & 'quotes'"  # a browser encodes double quotes in names of multipart bodies
LABEL = """</form>{alert("1")} & 'quotes'"""
FIELDS = [
    {"name": "email", "label": "Email", "type": "Email", "required": True},
    {"name": HOSTILE, "label": LABEL, "type": "Textarea", "required": True, "placeholder": "{no}"},
    {"name": "size", "label": "Size", "type": "Select", "required": False, "options": ["S", "{M} & more"]},
    {"name": "topics", "label": "Topics", "type": "Checkbox", "required": False, "options": ["It's new", "Offers"]},
    {"name": "agree", "label": "I agree", "type": "Checkbox", "required": True},
    {"name": "source", "label": "Source", "type": "Hidden", "required": False},
]
TYPED = {"email": "ada@example.com", HOSTILE: "Hello", "size": "{M} & more", "topics": "It's new", "agree": "yes"}


@pytest.fixture
def visitor(plain_visitor: Visitor) -> Visitor:
    plain_visitor.form_id = plain_visitor.tenant.form(fields=FIELDS)
    return plain_visitor


def codes(visitor: Visitor, way: str) -> list[str]:
    """Return the texts of the snippets as the dashboard shows them."""
    owner = logged_in(visitor.api, person_of(visitor.tenant))
    page = owner.get(place(visitor.tenant, f"forms/{visitor.form_id}?snippet={way}")).text
    return [html.unescape(text) for text in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)]


def fill_in_and_send(visitor: Visitor) -> None:
    page = visitor.page
    page.get_by_label("Email").fill(TYPED["email"])
    page.get_by_label(LABEL).fill(TYPED[HOSTILE])
    page.get_by_label("Size").select_option(TYPED["size"])
    page.get_by_label("It's new").check()
    page.get_by_label("I agree").check()
    page.get_by_role("button", name="Send").click()


def test_html__pasted__sends_without_a_script(visitor: Visitor) -> None:
    (code,) = codes(visitor, "html")
    visitor.open(code, tag="")
    fill_in_and_send(visitor)
    expect(visitor.page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert visitor.stored() == [{**TYPED, "source": ""}]


def test_script_tag__pasted_with_its_form__sends_and_stays(visitor: Visitor) -> None:
    form, tag, pinned = codes(visitor, "script")
    for one in (tag, pinned):
        visitor.open(form, tag=one)
        fill_in_and_send(visitor)
        expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{**TYPED, "source": ""}] * 2


def test_react_component__saved_and_built__sends_and_shows_a_refusal(visitor: Visitor, tmp_path: Path) -> None:
    (code,) = codes(visitor, "react")
    (tmp_path / "node_modules").symlink_to(TOOLS / "node_modules")
    (tmp_path / "Form.jsx").write_text(code)
    visitor.forgives = ["400"]
    open_component(visitor, "react", tmp_path / "Form.jsx")
    visitor.page.get_by_label("Email").fill("ada@nowhere")  # enough for a browser
    visitor.page.get_by_label(LABEL).fill("Hello")
    visitor.page.get_by_label("I agree").check()
    visitor.page.get_by_role("button", name="Send").click()
    expect(visitor.page.get_by_role("alert")).to_have_text("Email must be an email address.")
    fill_in_and_send(visitor)
    expect(visitor.page.get_by_role("status")).to_have_text("Thank you.")
    assert visitor.stored() == [{**TYPED, "source": ""}]


def test_fetch__run_on_a_page__sends_its_examples(visitor: Visitor) -> None:
    (code,) = codes(visitor, "fetch")
    visitor.open("", tag="")
    visitor.page.evaluate(f"async () => {{ {code} }}")
    assert [row["email"] for row in visitor.stored()] == ["ada@example.com"]
