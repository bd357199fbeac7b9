"""The demo page as a newcomer sees it: both forms work, and their submissions appear next to them."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.services.application import Application
from tests.support.chromium.accessibility import SCHEMES, violations


@pytest.mark.parametrize("context_options", SCHEMES, indirect=True)
def test_demo_page__both_forms__are_sent_and_appear(
    clean_context: BrowserContext, shared_service: Callable[..., Application]
) -> None:
    page = clean_context.new_page()
    page.goto(f"{shared_service(DEMO='1').base_url}/demo/")
    contact, news = page.get_by_role("region", name="Contact"), page.get_by_role("region", name="Newsletter")
    contact.get_by_label("Name").fill("Grace")
    contact.get_by_label("Email").fill("grace")
    contact.get_by_role("button", name="Send").click()
    expect(contact.get_by_text("Email must be an email address.")).to_be_visible()
    assert violations(page) == []
    contact.get_by_label("Email").fill("grace@example.com")
    contact.get_by_role("button", name="Send").click()
    expect(contact.get_by_role("status")).to_have_text("Submission received.")
    news.get_by_label("Email").fill("news@example.com")
    news.get_by_label("Guides").check()
    news.get_by_role("button", name="Monthly").click()
    arrived = page.get_by_role("region", name="Submissions").locator("article")
    expect(arrived.first).to_contain_text("news@example.com")
    expect(arrived.first).to_contain_text("Releases, Guides")
    expect(arrived.first).to_contain_text("monthly")
    expect(arrived.nth(1)).to_contain_text("Grace")
    assert violations(page) == []
