"""Forms of the dashboard with changes: leaving asks first, and the end of a session costs nothing that was typed."""

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Dialog, Page, expect

from tests.services.application import Application
from tests.support.browser import PASSWORD, person_of, place
from tests.support.chromium.dashboard_page import at_the_dashboard
from tests.support.rows import put
from tests.support.tenants import Tenant, text_field

LABELS = {
    "settings": "Message after sending",
    "page": "Description",
    "spam": "Blocked words and phrases",
    "replies": "Text",
    "notifications": "Mail each submission to",
}


class Staying:
    """A user who stays on a page that asks."""

    def __init__(self, page: Page) -> None:
        self.asked: list[str] = []
        page.on("dialog", self._stay)

    def _stay(self, dialog: Dialog) -> None:
        self.asked.append(dialog.type)
        dialog.dismiss()


def enter(page: Page, tenant: Tenant) -> None:
    page.get_by_label("Email").fill(tenant.owner.email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()


def end_session(page: Page) -> None:
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)


@pytest.mark.parametrize("screen", LABELS)
def test_form__left_with_changes__asks_first_and_not_after_saving(
    browser: Browser, service: Application, tenant: Tenant, screen: str
) -> None:
    form_id = tenant.form(fields=[text_field("email", type="Email", required=False)])
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, _):
        staying = Staying(page)
        page.goto(place(tenant, f"forms/{form_id}/{screen}"))
        typed = page.get_by_label(LABELS[screen], exact=True)
        typed.fill("typed@example.com")
        if screen == "replies":
            page.get_by_label("Subject").fill("Thank you")
        page.get_by_role("link", name="Overview", exact=True).last.click()
        expect(typed).to_have_value("typed@example.com")
        assert staying.asked == ["beforeunload"]
        page.locator("form[data-changed] .btn-primary").click()
        expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
        page.get_by_role("link", name="Overview", exact=True).last.click()
        page.wait_for_url(f"**/forms/{form_id}")
        assert staying.asked == ["beforeunload"]


def test_builder__after_the_session__keeps_its_fields_over_the_login(
    browser: Browser, service: Application, tenant: Tenant
) -> None:
    form_id = tenant.form(fields=[text_field("one", required=False)])
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, _):
        staying = Staying(page)
        page.goto(place(tenant, f"forms/{form_id}/build"))
        end_session(page)
        with page.expect_response("**/preview"):
            page.get_by_label("Label").first.fill("Typed")
        expect(page.get_by_label("Label").first).to_have_value("Typed")  # the preview's answer leads nowhere
        page.get_by_role("button", name="Add field").click()
        expect(page.get_by_text("Your session has ended, and nothing was saved.")).to_be_visible()
        enter(page, tenant)
        expect(page.get_by_text("It is not saved yet.")).to_be_visible()
        expect(page.get_by_label("Label").first).to_have_value("Typed")
        assert staying.asked == []


def test_row__after_the_session__opens_again_after_the_login(
    browser: Browser, service: Application, tenant: Tenant
) -> None:
    form_id = tenant.form(fields=[text_field("name", label="Name")])
    put(tenant, form_id, {"name": "Ada"})
    wide = {"width": 1280, "height": 800}
    with at_the_dashboard(browser, service.base_url, person_of(tenant), viewport=wide) as (page, _):
        page.goto(place(tenant, f"submissions?form={form_id}"))
        end_session(page)
        page.get_by_role("cell", name="Ada").click()
        expect(page.get_by_text("Your session has ended. Log in to continue.")).to_be_visible()
        expect(page.locator("#side")).to_have_count(0)
        enter(page, tenant)
        expect(page.locator("#side")).to_contain_text("Ada")
        expect(page.get_by_role("main")).to_have_count(1)


def test_button__over_a_limit__says_so_above_its_part_and_stays(
    browser: Browser, service: Application, tenant: Tenant
) -> None:
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, _):
        page.goto(place(tenant, f"forms/{tenant.default_form_id}"))
        searches = "async (path) => { while ((await fetch(path)).ok); }"
        note = page.get_by_role("alert").filter(has_text="The limit of 20 requests is used up.")
        for _ in range(3):  # the minute may turn between
            page.evaluate(searches, place(tenant, "submissions?q=hello"))
            with page.expect_response("**/tests") as answered:
                page.locator("#send-test").click()
            if answered.value.status == 429:
                break
        expect(note.first).to_be_visible()
        expect(page.locator("#send-test")).to_be_enabled()
