"""`/demo/`, only on a development machine (docs/contract.md 8): both forms work, and their submissions appear."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.services.application import Application
from tests.services.client import Client
from tests.support.chromium.accessibility import SCHEMES, violations


@pytest.mark.parametrize("path", ["/demo/", "/demo/latest"])
def test_demo_page__without_demo_or_debug__is_not_there(api: Client, path: str) -> None:
    assert api.get(path).status == 404


@pytest.mark.parametrize(
    ("context_options", "setting"),
    [*zip(SCHEMES, ("DEMO", "DEBUG", "DEMO"), strict=True)],
    indirect=["context_options"],
)
def test_demo_page__both_forms__are_sent_and_appear(
    clean_context: BrowserContext, shared_service: Callable[..., Application], setting: str
) -> None:
    page = clean_context.new_page()
    answer = page.goto(f"{shared_service(**{setting: '1'}).base_url}/demo/")
    assert answer is not None
    assert answer.headers["content-security-policy"].startswith("default-src 'self';")
    assert re.search(r'<script src="/forms.js" data-key="fp_pub_\w+" data-form-id="frm_\w+">', answer.text())
    assert not re.search(r"fp_(?!pub_)\w{20}", answer.text()), "no secret key"
    contact, news = page.get_by_role("region", name="Contact"), page.get_by_role("region", name="Newsletter")
    contact.get_by_label("Name").fill("<i>Grace</i>")
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
    expect(arrived.nth(1)).to_contain_text("<i>Grace</i>")  # as text
    expect(arrived.nth(1)).to_contain_text("grace@example.com")
    assert violations(page) == []
