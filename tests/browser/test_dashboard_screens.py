"""Every screen of the dashboard in both colour schemes: nothing for axe to find, no word from console or policy."""

import pytest
from playwright.sync_api import Browser, Page

from tests.services.application import Application
from tests.support.chromium.accessibility import violations
from tests.support.chromium.dashboard_page import at_the_dashboard
from tests.support.chromium.screens import ENTRANCES, Furnished, furnish

EXPECTED = ["404 (Not Found)"]  # of the screen that says so


@pytest.fixture(scope="module")
def furnished(service: Application) -> Furnished:  # noqa: ARG001  # the service is there first
    return furnish()


def look(page: Page, name: str, path: str) -> list[str]:
    page.goto(path)
    page.wait_for_function("document.documentElement.classList.contains('scripted') || !document.querySelector('nav')")
    found = [f"{name}: {one}" for one in violations(page)]
    # The style sheet and the chart follow immediately; reduced motion leaves no color on its way to another.
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    found += [f"{name} in the dark: {one}" for one in violations(page)]
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    return found


def test_screens__of_an_owner__are_accessible_and_quiet(
    browser: Browser, service: Application, furnished: Furnished
) -> None:
    owner = furnished.tenant.owner
    with at_the_dashboard(browser, service.base_url, owner, color_scheme="light") as (page, complaints):
        found = [one for name, path in furnished.paths() for one in look(page, name, path)]
        assert found == []
        assert [one for one in complaints if not any(part in one for part in EXPECTED)] == []


def test_screens__of_somebody_outside__are_accessible_and_quiet(
    browser: Browser, service: Application, furnished: Furnished
) -> None:
    invitation = ("invitation", f"/dashboard/invitations/{furnished.invitation_token}")
    with at_the_dashboard(browser, service.base_url, color_scheme="light") as (page, complaints):
        assert [one for name, path in [*ENTRANCES, invitation] for one in look(page, name, path)] == []
        assert complaints == []


def test_screens__on_a_phone__never_scroll_sideways(
    browser: Browser, service: Application, furnished: Furnished
) -> None:
    phone = {"viewport": {"width": 360, "height": 740}}
    with at_the_dashboard(browser, service.base_url, furnished.tenant.owner, **phone) as (page, _):
        wide = []
        for name, path in furnished.paths():
            page.goto(path)
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append(name)
        assert wide == []


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
