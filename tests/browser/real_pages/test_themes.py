"""Themes from npm, unmodified but for the tag: values arrive, passwords do not, and the thanks are seen."""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.support.chromium.coverage import TOOLS
from tests.support.chromium.visitor import Visitor

THEMES = TOOLS / "node_modules"
IN_VIEW = """slot => { const box = slot.getBoundingClientRect();
  return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight }"""


def open_theme(visitor: Visitor, name: str, path: str) -> Page:
    """Open a page of a theme, without the files that it loads from other hosts."""

    def answer(route: Route) -> None:
        if route.request.url.startswith(("http://127.0.0.1", "http://localhost")):
            route.fallback()
        else:
            route.abort()

    folder = visitor.site.add_folder(name, THEMES / name / "dist")
    html = (THEMES / name / "dist" / path).read_text()
    assert html.count("</body>") == 1
    visitor.site.add(html.replace("</body>", f"{visitor.tag()}</body>"), path=f"/{name}/{path}")
    visitor.page.context.route("**/*", answer)
    visitor.forgives = ["net::ERR", "bootstrap is not defined", "OverlayScrollbarsGlobal is not defined"]
    visitor.page.goto(f"{folder}/{path}")
    return visitor.page


@pytest.mark.parametrize("name", ["startbootstrap-agency", "startbootstrap-freelancer"])
def test_contact_form_of_a_theme__works__and_its_thanks_are_seen(visitor: Visitor, name: str) -> None:
    page = open_theme(visitor, name, "index.html")
    values = {"name": "Ada", "email": "ada@example.com", "phone": "1234", "message": "Hello"}
    for field, value in values.items():
        page.locator(f"#{field}").fill(value)
    page.locator("#phone").press("Enter")  # the theme's own remote script would make its button visible
    expect(visitor.thanks).to_have_text("Submission received.")
    expect(page.locator("#name")).to_have_value("")
    page.wait_for_function(IN_VIEW, arg=visitor.thanks.element_handle())
    if name == "startbootstrap-agency":  # a dark section under dark text
        expect(visitor.thanks).to_have_css("color", "rgb(255, 255, 255)")
    assert visitor.stored() == [values]


def test_adminlte__sends_every_kind_of_input_but_the_password(visitor: Visitor) -> None:
    page = open_theme(visitor, "admin-lte", "forms/layout.html")
    page.locator("#inputEmail3").fill("ada@example.com")
    page.locator("#inputPassword3").fill("secret")
    page.locator("form", has=page.locator("#inputEmail3")).get_by_role("button", name="Sign in").click()
    expect(visitor.thanks).to_have_text("Submission received.")
    page.wait_for_function(IN_VIEW, arg=visitor.thanks.element_handle())
    assert visitor.stored() == [{"inputEmail3": "ada@example.com", "gridRadios": "option1"}]
