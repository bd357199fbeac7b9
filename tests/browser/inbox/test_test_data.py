"""The bar of test data, as people see it: in sight, accessible, and no wider than a phone."""

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from tests.services.application import Application
from tests.support.browser import person_of, place
from tests.support.chromium.accessibility import violations_in_both_schemes
from tests.support.chromium.dashboard_page import at_the_dashboard
from tests.support.rows import put_many
from tests.support.tenants import Tenant, make_tenant

DESK, PHONE = ViewportSize(width=1280, height=720), ViewportSize(width=360, height=740)


@pytest.fixture
def tenant() -> Tenant:
    made = make_tenant()
    put_many(made, made.default_form_id, [{"message": f"Hello {number}"} for number in range(30)])
    return made


@pytest.mark.parametrize(("viewport", "language"), [(DESK, "en"), (PHONE, "en"), (PHONE, "ar")])
def test_bar__of_test_data__stays_in_sight_until_live_data_is_shown(
    browser: Browser, service: Application, tenant: Tenant, viewport: ViewportSize, language: str
) -> None:
    user = person_of(tenant)
    options = {"viewport": viewport, "locale": language, "color_scheme": "light"}
    with at_the_dashboard(browser, service.base_url, user, **options) as (page, complaints):
        page.goto(place(tenant, "audit"))
        if viewport == PHONE:
            page.locator("[popovertarget=menu]").first.click()
        page.get_by_role("switch").click()
        bar = page.locator(".test-bar")
        for path in ("", "submissions", "members", f"forms/{tenant.default_form_id}"):
            page.goto(place(tenant, path))
            assert violations_in_both_schemes(page) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            page.evaluate("scrollTo(0, document.body.scrollHeight)")
            expect(bar).to_be_in_viewport(ratio=1)
        bar.get_by_role("button").click()
        expect(page.locator(".test-bar")).to_have_count(0)
        assert page.url.endswith(f"forms/{tenant.default_form_id}")
        assert complaints == []
