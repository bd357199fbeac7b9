"""The guides in Chromium: accessible in both color schemes, within a phone, and with buttons that copy."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.guides.library import GUIDES
from tests.services.application import Application
from tests.support.chromium.accessibility import violations

PATHS = ["/docs", *(f"/docs/{name}" for name in GUIDES), "/docs/search?q=key", "/docs/search?q=xylophone"]
FEW = ["/docs", "/docs/pages", "/docs/search?q=key"]  # every kind of element


@pytest.fixture(scope="module")
def page(browser: Browser, service: Application) -> Iterator[Page]:
    context = browser.new_context(base_url=service.base_url)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield context.new_page()
    context.close()


def test_guides__in_light_and_dark__are_accessible_and_quiet(page: Page) -> None:
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    found = []
    for path in FEW:
        page.emulate_media(color_scheme="light")
        page.goto(path)
        found += [f"{path}: {one}" for one in violations(page)]
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        found += [f"{path} in the dark: {one}" for one in violations(page)]
    assert found == []
    assert complaints == []


@pytest.mark.parametrize(("width", "paths"), [(360, PATHS), (1280, FEW)])
def test_guides__in_any_width__never_scroll_sideways(page: Page, width: int, paths: list[str]) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for path in paths:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert page.locator("header").evaluate("one => one.offsetHeight") <= 64, path


def test_code__has_a_button_that_copies_it_and_covers_nothing(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/docs/start")
    block = page.locator(".code").nth(1)
    button, code = block.get_by_role("button", name="Copy"), block.locator("code")
    over, under = button.bounding_box(), block.locator("pre").bounding_box()
    assert over
    assert under
    assert over["y"] + over["height"] <= under["y"]
    button.click()
    expect(button).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == code.text_content()


def test_search__typed_into_the_menu__leads_to_its_section(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/docs")
    page.get_by_label("Search the docs").fill("restore")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Restore", exact=True).click()
    expect(page.get_by_role("heading", name="Restore")).to_be_in_viewport()


def test_guides__without_scripts__show_code_and_no_button(browser: Browser, service: Application) -> None:
    context = browser.new_context(base_url=service.base_url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/docs/start")
    assert page.locator(".code button:visible").count() == 0
    expect(page.get_by_text("make run").first).to_be_visible()
    assert context.cookies() == []
    context.close()
