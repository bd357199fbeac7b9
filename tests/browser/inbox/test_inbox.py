"""The list of submissions as people work with it: a row next to its list, keys, history, columns, the whole list."""

import datetime as dt

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from config.base.times import now
from keys.models import User
from submissions.models import Submission
from tests.services.application import Application
from tests.services.waiting import eventually
from tests.support.browser import person_of, place
from tests.support.chromium.accessibility import violations
from tests.support.chromium.dashboard_page import at_the_dashboard, press
from tests.support.rows import put
from tests.support.tenants import Tenant, text_field

NAMES = ("Ada", "Grace", "Alan")
WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 1000, "height": 800}


@pytest.fixture
def form_id(tenant: Tenant) -> str:
    """Return a form with three submissions, the newest of Ada."""
    made = tenant.form(fields=[text_field(name, label=name.title()) for name in ("name", "city", "note")])
    for number, name in enumerate(NAMES):
        put(tenant, made, {"name": name, "city": "London", "note": "x"}, now() - dt.timedelta(minutes=5 + number))
    return made


def side(page: Page, name: str) -> None:
    """Expect the submission of this name next to the list, and its row as the current one."""
    expect(page.get_by_role("complementary", name="Submission")).to_contain_text(f"Name {name}")
    expect(page.locator("tr[aria-current]")).to_contain_text(name)


def test_row__on_a_wide_screen__opens_next_to_its_list_with_keys_and_history(
    browser: Browser, service: Application, tenant: Tenant, form_id: str
) -> None:
    with at_the_dashboard(browser, service.base_url, person_of(tenant), viewport=WIDE) as (page, complaints):
        page.goto(place(tenant, f"submissions?form={form_id}"))
        unread, listed = page.locator("[data-unread]"), page.url
        expect(unread).to_have_text("3")
        page.get_by_role("cell", name="London").nth(0).click()
        side(page, "Ada")
        expect(unread).to_have_text("2")
        expect(page.get_by_role("heading", name="Received")).to_be_focused()
        assert violations(page) == []
        page.keyboard.press("j")
        side(page, "Grace")
        press(page, "Next row")
        side(page, "Alan")
        expect(unread).to_be_hidden()
        page.keyboard.press("k")
        side(page, "Grace")
        page.keyboard.press("Escape")
        expect(page.locator("#side")).to_be_empty()
        expect(page.get_by_role("row").filter(has_text="Grace").get_by_role("link")).to_be_focused()
        expect(page).to_have_url(listed)
        page.go_forward()
        side(page, "Grace")
        page.reload()
        side(page, "Grace")
        page.go_back()
        expect(page.locator("#side")).to_be_empty()
        page.get_by_role("checkbox", name="Select the submission").first.check()
        expect(page.locator("#side")).to_be_empty()
        page.set_viewport_size(NARROW)
        page.get_by_role("cell", name="London").nth(2).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Received")
        assert complaints == []


def test_columns__that_were_moved__stay_for_this_user(
    browser: Browser, service: Application, tenant: Tenant, form_id: str
) -> None:
    with at_the_dashboard(browser, service.base_url, person_of(tenant), viewport=WIDE) as (page, complaints):
        page.goto(place(tenant, f"submissions?form={form_id}"))
        page.get_by_text("Columns", exact=True).click()
        assert violations(page) == []
        press(page, "Move Note up")
        press(page, "Move Note up")
        expect(page.get_by_role("button", name="Move Note up")).to_be_focused()
        page.get_by_label("City", exact=True).uncheck()
        press(page, "Apply")
        heads = page.locator("thead th[data-name]")
        expect(heads).to_have_text(["Note", "Name"])
        put(tenant, form_id, {"name": "Live", "city": "Paris", "note": "live"})
        expect(page.locator("tbody tr").first).to_contain_text("live Live +1")
        assert complaints == []


def test_whole_list__from_the_selection_of_a_page__is_marked_in_steps(
    browser: Browser, service: Application, tenant: Tenant
) -> None:
    start = now() - dt.timedelta(hours=1)
    for number in range(30):
        put(tenant, tenant.default_form_id, {"n": str(number)}, start + dt.timedelta(seconds=number))
    with at_the_dashboard(browser, service.base_url, person_of(tenant), viewport=WIDE) as (page, complaints):
        page.goto(place(tenant, "submissions"))
        everything = page.get_by_label("Select all 30 that match")
        rows = page.locator("tbody input[name=id]")
        rows.first.check()
        expect(everything).to_be_hidden()
        page.get_by_label("Select every row of this page").check()
        everything.check()
        rows.nth(3).uncheck()
        expect(everything).to_be_hidden()
        rows.nth(3).check()
        expect(everything).not_to_be_checked()
        everything.check()
        press(page, "Mark as read")
        expect(page.get_by_text("30 submissions are marked as read.")).to_be_visible()
        assert not Submission.objects.filter(organization=tenant.organization, is_read=False).exists()
        assert complaints == []


def test_first_submissions__of_an_empty_list__are_counted_with_their_rows(
    browser: Browser, service: Application, tenant: Tenant
) -> None:
    with at_the_dashboard(browser, service.base_url, person_of(tenant), viewport=WIDE) as (page, complaints):
        page.goto(place(tenant, "submissions"))
        expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
        for count in (1, 2):
            put(tenant, tenant.default_form_id, {"n": str(count)})
            expect(page.locator("#list tbody tr")).to_have_count(count)
            expect(page.locator("[data-unread]")).to_have_text(str(count))
        assert complaints == []


def test_first_visit__sends_the_time_zone_of_the_browser(
    browser: Browser, service: Application, tenant: Tenant
) -> None:
    user = person_of(tenant)
    with at_the_dashboard(browser, service.base_url, user, timezone_id="Asia/Tokyo") as (page, complaints):
        page.goto(place(tenant))
        eventually(lambda: User.objects.get(pk=user.pk).time_zone == "Asia/Tokyo", because="the zone is stored")
        assert complaints == []
