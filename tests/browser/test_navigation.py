"""The menu: a sidebar that folds, on a phone a bar and a drawer, with and without scripts (docs/design.md)."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.services.application import Application
from tests.support.chromium.accessibility import violations
from tests.support.chromium.dashboard_page import at_the_dashboard, press
from tests.support.chromium.screens import Furnished

PHONE = {"viewport": {"width": 390, "height": 844}}
SHIFTS = """() => new Promise((resolve) => {
  new PerformanceObserver((list, observer) => {
    observer.disconnect();
    resolve(list.getEntries().reduce((sum, shift) => sum + shift.value, 0));
  }).observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => resolve(0)));
})"""


def home(furnished: Furnished) -> str:
    return f"/dashboard/o/{furnished.tenant.organization.slug}/"


def width_of_menu(page: Page) -> float:
    width: float = page.locator(".rail").evaluate("rail => rail.getBoundingClientRect().width")
    return width


@pytest.mark.parametrize("scripts", [True, False])
def test_phone__opens_the_menu_as_a_drawer__with_and_without_scripts(
    browser: Browser, service: Application, furnished: Furnished, scripts: bool
) -> None:
    options = {**PHONE, "java_script_enabled": scripts}
    with at_the_dashboard(browser, service.base_url, furnished.tenant.owner, **options) as (page, complaints):
        page.goto(home(furnished))
        link = page.get_by_role("link", name="Forms", exact=True)
        expect(link).to_be_hidden()
        press(page, "Menu")
        expect(link).to_be_visible()
        press(page, "Close the menu")
        expect(link).to_be_hidden()
        press(page, "Menu")
        link.click()
        expect(page.get_by_role("heading", name="Forms", exact=True)).to_be_visible()
        expect(link).to_be_hidden()
        assert complaints == []


def test_menu__that_was_folded__stays_folded_and_shifts_nothing(
    browser: Browser, service: Application, furnished: Furnished
) -> None:
    with at_the_dashboard(browser, service.base_url, furnished.tenant.owner) as (page, complaints):
        page.goto(home(furnished))
        wide = width_of_menu(page)
        press(page, "Wide menu")
        narrow = width_of_menu(page)
        assert narrow < wide / 3
        page.reload()
        assert width_of_menu(page) == narrow
        assert page.evaluate(SHIFTS) < 0.02
        page.get_by_role("link", name="Forms", exact=True).click()
        expect(page.get_by_role("heading", name="Forms", exact=True)).to_be_visible()
        press(page, "Wide menu")
        page.goto("/dashboard/account")
        assert width_of_menu(page) == wide
        assert complaints == []


def test_account_pages__have_the_menu_of_the_last_organization(
    browser: Browser, service: Application, furnished: Furnished
) -> None:
    with at_the_dashboard(browser, service.base_url, furnished.tenant.owner) as (page, _):
        page.goto(home(furnished))
        for path in ("/dashboard/account", "/account/2fa/", "/account/email/", "/account/sessions/"):
            page.goto(path)
            link = page.get_by_role("navigation", name="Pages").get_by_role("link", name="Submissions", exact=True)
            assert link.get_attribute("href") == f"{home(furnished)}submissions"
            assert page.locator("nav [aria-current]").count() == 0


@pytest.mark.parametrize("name", ["overview", "submissions", "form-build"])
def test_page__while_it_loads__shifts_nothing(
    browser: Browser, service: Application, furnished: Furnished, name: str
) -> None:
    with at_the_dashboard(browser, service.base_url, furnished.tenant.owner) as (page, _):
        page.goto(dict(furnished.paths())[name], wait_until="networkidle" if name == "form-build" else "load")
        expect(page.locator(".plot" if name == "overview" else "h1").first).to_be_visible()
        assert page.evaluate(SHIFTS) < 0.02


def test_palette__by_keyboard__finds_and_opens_a_form(
    browser: Browser, service: Application, furnished: Furnished
) -> None:
    with at_the_dashboard(browser, service.base_url, furnished.tenant.owner) as (page, complaints):
        page.goto("/dashboard/account")
        page.keyboard.press("Control+k")
        box = page.get_by_role("combobox", name="Go to")
        expect(box).to_be_focused()
        expect(page.get_by_role("option", name="Overview")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("ArrowDown")
        expect(page.get_by_role("option", name="Forms")).to_have_attribute("aria-selected", "true")
        assert violations(page) == []
        box.fill("job app")
        only = page.get_by_role("option")
        expect(only).to_have_count(1)
        expect(only).to_contain_text("Job application")
        assert box.get_attribute("aria-activedescendant") == only.get_attribute("id")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Job application")
        page.keyboard.press("Control+k")
        box.fill(furnished.submission.public_id)
        expect(page.get_by_role("option")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(box).to_be_hidden()
        assert complaints == []


def test_keys__in_a_list__move_select_search_and_can_be_turned_off(
    browser: Browser, service: Application, furnished: Furnished
) -> None:
    with at_the_dashboard(browser, service.base_url, furnished.tenant.owner) as (page, complaints):
        page.goto(f"{home(furnished)}submissions")
        rows = page.locator("tbody tr")
        for key in ("j", "j", "j", "k", "x"):
            page.keyboard.press(key)
        expect(rows.nth(1).get_by_role("checkbox")).to_be_checked()
        expect(page.get_by_role("button", name="Mark as spam")).to_be_visible()
        page.keyboard.press("/")
        expect(page.get_by_label("Search", exact=True).locator("visible=true")).to_be_focused()
        page.keyboard.type("jx?")  # letters, in an input
        expect(page.get_by_label("Search", exact=True).locator("visible=true")).to_have_value("jx?")
        page.get_by_role("heading", level=1).click()
        page.keyboard.press("?")
        box = page.get_by_label("Shortcuts of one key work in this browser")
        expect(box).to_be_visible()
        assert violations(page) == []
        box.uncheck()
        page.keyboard.press("Escape")
        page.reload()
        page.keyboard.press("?")
        page.keyboard.press("j")
        expect(box).to_be_hidden()
        assert page.evaluate("document.activeElement === document.body")
        assert complaints == []


def test_search__without_scripts__is_a_page(browser: Browser, service: Application, furnished: Furnished) -> None:
    options = {"java_script_enabled": False}
    with at_the_dashboard(browser, service.base_url, furnished.tenant.owner, **options) as (page, _):
        page.goto(home(furnished))
        page.get_by_role("link", name="Search").click()
        page.get_by_role("searchbox").fill("contact")
        page.get_by_role("main").get_by_role("button", name="Search").click()
        page.get_by_role("main").get_by_role("link", name="Contact", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Contact")
