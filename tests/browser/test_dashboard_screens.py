"""Every screen of the dashboard in both colour schemes: nothing for axe to find, no word from console or policy."""

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from forms_app.models import Form
from tests.services.application import Application
from tests.support.browser import place
from tests.support.chromium.accessibility import violations_in_both_schemes
from tests.support.chromium.dashboard_page import at_the_dashboard
from tests.support.chromium.screens import ENTRANCES, Furnished

EXPECTED = ["404 (Not Found)"]  # of the screen that says so
NARROW: ViewportSize = {"width": 360, "height": 740}
PHONE: ViewportSize = {"width": 390, "height": 844}
MAX_BAR = 64  # px, of 844
TOP_OF_MAIN = "document.querySelector('main').getBoundingClientRect().top"
OUT_OF_SIGHT = """() => [...document.querySelectorAll("main *")]
  .filter((one) => !one.matches("pre, .tabs, .visually-hidden, .chart *") && one.checkVisibility())
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "auto")
  .map((one) => one.className)"""

INVALID = """() => {
  const found = [];
  const levels = [...document.querySelectorAll("main :is(h1, h2, h3, h4)")].map((one) => Number(one.localName[1]));
  levels.forEach((level, at) => at && level > levels[at - 1] + 1 && found.push(`h${level} after h${levels[at - 1]}`));
  const moments = [...document.querySelectorAll("time")].map((one) => one.getAttribute("datetime"));
  found.push(...moments.filter((moment) => /[.][0-9]{4}/.test(moment)));
  found.push(...[...document.querySelectorAll("pre[aria-label]:not([role]), [type=date][placeholder]")]
    .map((one) => one.outerHTML.slice(0, 80)));
  const names = [...document.querySelectorAll("main [role=region][aria-label]")].map((one) => one.ariaLabel);
  found.push(...names.filter((name, at) => names.indexOf(name) < at));
  return found;
}"""  # rules of the HTML checker, and of axe's best practices, that `violations` leaves out


def look(page: Page, name: str, path: str) -> list[str]:
    page.goto(path)
    page.wait_for_function("document.documentElement.classList.contains('scripted') || !document.querySelector('nav')")
    return [f"{name}: {one}" for one in violations_in_both_schemes(page)]


def phone_of(page: Page, name: str) -> list[str]:
    """Return what a phone would show badly. Only style sheets tell widths apart: no second load."""
    page.set_viewport_size(NARROW)
    found = [f"{name} scrolls"] if page.evaluate("document.documentElement.scrollWidth > innerWidth") else []
    page.set_viewport_size(PHONE)
    width, top, hidden = page.evaluate(f"() => [innerWidth, {TOP_OF_MAIN}, ({OUT_OF_SIGHT})()]")
    assert width == PHONE["width"]
    found += [f"{name} has a bar of {top} px"] if top > MAX_BAR and name != "not-found" else []
    return found + [f"{name} hides {one}" for one in hidden]


def test_screens__of_an_owner__are_accessible_quiet_valid_and_fit_a_phone(
    browser: Browser, service: Application, furnished: Furnished
) -> None:
    """One test, since loading each screen again takes seconds."""
    owner, desk = furnished.tenant.owner, ViewportSize(width=1280, height=720)
    with at_the_dashboard(browser, service.base_url, owner, color_scheme="light", viewport=desk, locale="en") as (
        page,
        complaints,
    ):
        found = []
        for name, path in furnished.paths():
            found += [*look(page, name, path), *(f"{name}: {one}" for one in page.evaluate(INVALID))]
            found += phone_of(page, name)
            page.set_viewport_size(desk)
        assert found == []
        assert [one for one in complaints if not any(part in one for part in EXPECTED)] == []


def test_screens__of_somebody_outside__are_accessible_and_quiet(
    browser: Browser, service: Application, furnished: Furnished
) -> None:
    invitation = ("invitation", f"/dashboard/invitations/{furnished.invitation_token}")
    with at_the_dashboard(browser, service.base_url, color_scheme="light") as (page, complaints):
        assert [one for name, path in [*ENTRANCES, invitation] for one in look(page, name, path)] == []
        assert complaints == []


@pytest.mark.parametrize("language", ["de", "ar"])  # English is tried above
def test_screens__on_a_phone__never_scroll_sideways_and_have_a_low_bar_and_nothing_out_of_sight(
    browser: Browser, service: Application, furnished: Furnished, language: str
) -> None:
    owner = furnished.tenant.owner
    with at_the_dashboard(browser, service.base_url, owner, viewport=NARROW, locale=language) as (page, _):
        found = []
        for name, path in furnished.paths():
            page.goto(path)
            found += phone_of(page, name)
        assert found == []


def test_pages_with_a_date__have_valid_times_headings_placeholders_and_landmarks(
    browser: Browser, service: Application, furnished: Furnished
) -> None:
    day = {"name": "day", "label": "Day", "type": "Date", "required": False, "placeholder": "soon"}
    asked = furnished.tenant.form(fields=[day])
    with at_the_dashboard(browser, service.base_url, furnished.tenant.owner) as (page, _):
        found = []
        for path in (f"/f/{asked}", place(furnished.tenant, f"forms/{asked}/build")):
            page.goto(path)
            found += [f"{path}: {one}" for one in page.evaluate(INVALID)]
        assert found == []
        expect(page.get_by_role("group", name="Preview")).to_have_attribute("tabindex", "0")


@pytest.mark.parametrize("width", [320, 1280])
def test_long_name_and_fingers__stretch_no_screen(
    browser: Browser, service: Application, furnished: Furnished, width: int
) -> None:
    owner, paths = furnished.tenant.owner, dict(furnished.paths())
    Form.objects.filter(pk=furnished.draft.pk).update(name="Request " * 25)
    size: ViewportSize = {"width": width, "height": 740}
    with at_the_dashboard(browser, service.base_url, owner, viewport=size, has_touch=True, locale="ar") as (page, _):
        for name in ("form", "form-draft", "forms", "deliveries", "refused", "submissions-form"):
            page.goto(paths[name])
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        page.goto(paths["forms"])
        box = page.get_by_role("link", name="Request").first.locator("strong").bounding_box()
        assert box
        assert box["height"] < 60  # two lines


BROKEN_WORDS = """() => [...document.querySelectorAll("td")].flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
  for (let node; (node = texts.nextNode()); ) {
    if (!node.parentElement.checkVisibility()) continue;
    for (const word of node.data.matchAll(/(?<![^\\s])[A-Za-z]{1,14}(?![^\\s])/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((line) => line.top)).size > 1) broken.push(word[0]);
    }
  }
  return broken;
})"""


@pytest.mark.parametrize("width", [360, 1280])
def test_tables__in_any_width__break_no_words(
    browser: Browser, service: Application, furnished: Furnished, width: int
) -> None:
    size = {"viewport": {"width": width, "height": 740}}
    with at_the_dashboard(browser, service.base_url, furnished.tenant.owner, **size) as (page, _):
        found = {}
        for name, path in furnished.paths():
            if name in ("keys", "forms", "refused", "destinations", "deliveries", "submissions"):
                page.goto(path)
                assert page.locator("td").count(), name
                found[name] = page.evaluate(BROKEN_WORDS)
        assert {name: words for name, words in found.items() if words} == {}


def test_screens__without_scripts__are_all_there(browser: Browser, service: Application, furnished: Furnished) -> None:
    options = {"java_script_enabled": False}
    with at_the_dashboard(browser, service.base_url, furnished.tenant.owner, **options) as (page, complaints):
        for name, path in furnished.paths():
            answer = page.goto(path)
            assert answer is not None
            assert answer.status == (404 if name == "not-found" else 200), name
            assert page.locator("h1").count() == 1, name
            assert page.locator(".needs-script:visible").count() == 0, name
        assert [one for one in complaints if not any(part in one for part in EXPECTED)] == []
