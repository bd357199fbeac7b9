"""The costs of pages: bytes, requests that the first paint waits for, and text that moves while they load."""

import datetime as dt

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from config.base.times import now
from tests.services.application import Application
from tests.support.chromium.dashboard_page import at_the_dashboard
from tests.support.chromium.page_figures import figures_of
from tests.support.chromium.screens import Furnished
from tests.support.rows import put_many

MOST_SHIFT = 0.02
MOST_BYTES, MOST_OF_HOSTED = 120_000, 20_000
ROWS = 20_000
MOVED = """() => new Promise((done) => {
  document.body.insertAdjacentHTML("afterbegin", "<p>Late</p>".repeat(20));
  requestAnimationFrame(() => requestAnimationFrame(done));
})"""


def load(page: Page, path: str) -> None:
    """Open a page, and wait until nothing is loading and two frames are painted."""
    page.goto(path, wait_until="networkidle")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_dashboard__at_first_sight__is_light_waits_for_one_style_sheet_and_moves_nothing(
    browser: Browser, service: Application, furnished: Furnished
) -> None:
    tenant, form = furnished.tenant, furnished.form.public_id
    home = f"/dashboard/o/{tenant.organization.slug}/"
    before_its_receivers = now() - dt.timedelta(hours=1)  # else tests after this one wait behind their deliveries
    values = ({"name": f"Ada {number}", "message": "Hello"} for number in range(ROWS))
    put_many(tenant, form, values, at=before_its_receivers)
    for path in (home, f"{home}submissions", f"{home}submissions?form={form}"):
        with at_the_dashboard(browser, service.base_url, tenant.owner) as (page, _):
            load(page, path)
            found = figures_of(page)
        sheets = [name for name in found.blocking if name.endswith(".css")]
        assert (path, len(found.blocking), len(sheets)) == (path, 1, 1)
        assert 10_000 < found.bytes < MOST_BYTES, f"{path} has {found.bytes} bytes: {found.largest()}"
        assert found.shift < MOST_SHIFT, f"{path} moves by {found.shift}: {found.moved}"


@pytest.mark.parametrize("context_options", [{}, {"viewport": {"width": 390, "height": 844}}], indirect=True)
def test_hosted_page__at_first_sight__is_light_waits_for_one_style_sheet_and_moves_nothing(
    clean_context: BrowserContext, furnished: Furnished
) -> None:
    page = clean_context.new_page()
    load(page, furnished.form.url)
    found = figures_of(page)
    assert len(found.blocking) <= 1
    assert found.shift < MOST_SHIFT, found
    assert 1_000 < found.bytes < MOST_OF_HOSTED, found


def test_figures__of_a_page_that_moves__tell(browser: Browser, service: Application) -> None:
    with at_the_dashboard(browser, service.base_url) as (page, _):
        load(page, "/account/login/")
        still = figures_of(page)
        page.evaluate(MOVED)
        assert still.shift < MOST_SHIFT < figures_of(page).shift
