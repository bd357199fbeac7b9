"""The API reference in a browser: Swagger UI under a policy without inline styles, and our menu."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.services.application import Application
from tests.support.chromium.dashboard_page import at_the_dashboard


@pytest.mark.parametrize("width", [1280, 390])
def test_api_reference__opened_tried_and_authorized__breaks_no_policy_and_fits(
    browser: Browser, service: Application, width: int
) -> None:
    size = {"width": width, "height": 800}
    with at_the_dashboard(browser, service.base_url, viewport=size) as (page, complaints):
        page.goto("/api/docs#/Forms/createForm")
        form = page.locator("#operations-Forms-createForm")
        expect(form).to_have_class(re.compile("is-open"), timeout=120_000)  # 1.6 MB of script come first
        expect(form).to_contain_text("Create a form")
        form.get_by_role("button", name="Try it out").click()
        form.get_by_role("tab", name="Schema").first.click()
        page.get_by_role("button", name="Authorize").first.click()
        page.get_by_role("button", name="Close").click()
        if width > 1000:
            page.get_by_role("link", name="List webhooks").click()
            expect(page.locator("#operations-Webhooks-listWebhooks")).to_have_class(re.compile("is-open"))
            expect(page).to_have_url(re.compile("#/Webhooks/listWebhooks$"))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert complaints == []
