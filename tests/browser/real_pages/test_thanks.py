"""The thanks are seen: in view, in a readable color, and where a theme hides their place (docs/contract.md 6.6)."""

import pytest
from playwright.sync_api import expect

from tests.support.chromium.visitor import CONTACT, Visitor

IN_VIEW = """slot => { const box = slot.getBoundingClientRect();
  return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight }"""
COLOR = "slot => getComputedStyle(slot).color"


def sent(visitor: Visitor, body: str) -> None:
    visitor.open(body)
    visitor.send(name="Ada")
    expect(visitor.thanks).to_have_text("Submission received.")


def test_thanks_below_the_window__are_scrolled_into_view(visitor: Visitor) -> None:
    sent(visitor, '<form><input name="name"><button>Go</button><div style="height:3000px"></div></form>')
    assert visitor.thanks.evaluate(IN_VIEW)


@pytest.mark.parametrize(
    ("style", "color"),
    [
        ("background:#212529;color:#212529", "rgb(255, 255, 255)"),
        ("background:oklch(0.98 0 0);color:white", "rgb(0, 0, 0)"),
        ("background:#0d6efd;color:#0d6efd", "rgb(0, 0, 0)"),
        ("background:black;color:#eee", "rgb(238, 238, 238)"),
        ("color:#333", "rgb(51, 51, 51)"),
    ],
)
def test_thanks__in_the_color_of_their_background__can_be_read(visitor: Visitor, style: str, color: str) -> None:
    visitor.open(f'<section style="{style}">{CONTACT}</section>')
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    expect(visitor.thanks).to_have_css("color", color)


def test_place_of_a_theme__that_hides_it__is_shown__and_hidden_again(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(fields=[{"name": "name", "label": "Name", "type": "Text", "required": True}])
    visitor.forgives = ["400"]
    page = visitor.open(
        "<style>.d-none { display: none !important } .invisible { visibility: hidden !important }</style>"
        f'{CONTACT}<div class="d-none"><p data-fieldpost-success>Form sent.</p></div>'
        '<p class="d-none invisible" data-fieldpost-error></p>'
    )
    visitor.send(name="Ada")
    expect(visitor.thanks).to_have_text("Form sent.")
    visitor.send(name="")
    expect(visitor.error).to_be_visible()
    expect(page.locator("[data-fieldpost-success]")).not_to_be_visible()
    assert visitor.error.evaluate("slot => getComputedStyle(slot).visibility") == "visible"


def test_plain_page__needs_no_further_file(visitor: Visitor) -> None:
    loaded: list[str] = []
    visitor.page.on("request", lambda request: loaded.append(request.url))
    sent(visitor, CONTACT)
    assert [url for url in loaded if "/forms" in url] == [f"{visitor.service_url}/forms.js"]
