"""Replies in a browser: a newsletter with confirmation and a contact form with a reply, set up by what screens say."""

import secrets

from playwright.sync_api import Browser, Page, expect

from tests.services.application import Application
from tests.services.receivers import MailReceiver
from tests.support.answers.sending import link_of
from tests.support.browser import person_of, place
from tests.support.chromium.accessibility import violations, violations_in_both_schemes
from tests.support.chromium.dashboard_page import at_the_dashboard, press
from tests.support.mail_links import text_part
from tests.support.tenants import Tenant


def link(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()


def saved(page: Page) -> None:
    expect(page.get_by_text("Saved. It applies from the next submission on.")).to_be_visible()


def start_form(page: Page, tenant: Tenant, name: str, starter: str) -> str:
    """Make and publish a form from a starter, turn on its human check; return the address of its page."""
    page.goto(place(tenant))
    page.get_by_role("link", name="Forms", exact=True).first.click()
    page.get_by_role("link", name="New form").first.click()
    page.locator("#new-form").get_by_label("Name").fill(name)
    press(page, f"Start with {starter}")
    expect(page.get_by_role("heading", name="Preview", exact=True)).to_be_visible()
    press(page, "Save and publish")
    link(page, "Replies")
    link(page, "Turn on proof of work or a captcha")
    page.get_by_role("checkbox", name="Proof of work").check()
    page.get_by_label("Minimum seconds on the hosted page").fill("0")  # this visitor types in no time
    press(page, "Save")
    saved(page)
    link(page, "Replies")
    return str(page.get_by_role("link", name="/f/frm_").get_attribute("href"))


def send(page: Page, address: str, **values: str) -> None:
    """Fill in and send the form's page as a visitor."""
    visitor = page.context.new_page()
    visitor.goto(address)
    for label, value in values.items():
        visitor.get_by_label(label).fill(value)
    for box in visitor.get_by_role("checkbox").all():
        box.check()
    visitor.get_by_role("button").last.click()
    expect(visitor.get_by_role("heading", name="Thank you")).to_be_visible()
    visitor.close()


def confirm(page: Page, service: Application, path: str) -> list[str]:
    """Press the button of a mail's page; return what axe finds on it, before and after."""
    reader = page.context.new_page()
    reader.goto(f"{service.base_url}{path}")
    found = violations_in_both_schemes(reader)
    reader.get_by_role("button", name="Confirm", exact=True).click()
    expect(reader.get_by_role("heading", name="Confirmed")).to_be_visible()
    found += violations_in_both_schemes(reader)
    reader.close()
    return found


def test_newsletter__with_confirmation__is_set_up_by_its_texts(
    browser: Browser, service: Application, tenant: Tenant, smtp: MailReceiver
) -> None:
    address = f"ada.{secrets.token_hex(6)}@example.net"
    with at_the_dashboard(browser, service.base_url, person_of(tenant), color_scheme="light") as (page, complaints):
        form_page = start_form(page, tenant, "News", "Newsletter")
        page.get_by_label("Ask submitters to confirm their address").check()
        page.get_by_label("Answer each submission by mail").check()
        page.get_by_label("Subject", exact=True).fill("Welcome")
        page.get_by_label("Text", exact=True).fill("You read us at {{ data.email }}.")
        press(page, "Save")
        saved(page)
        found = violations_in_both_schemes(page)
        send(page, form_page, Email=address)
        (question,) = smtp.wait_for(address)
        page.locator("#main").get_by_role("link", name="Submissions", exact=True).click()
        page.get_by_role("link", name="Unconfirmed", exact=True).click()
        expect(page.get_by_text(address).first).to_be_visible()
        found += confirm(page, service, link_of(question))
        welcome = smtp.wait_for(address, 2)[1]
        assert (welcome.message["Subject"], f"You read us at {address}." in text_part(welcome)) == ("Welcome", True)
        page.reload()
        page.get_by_role("link", name="Inbox", exact=True).click()
        page.get_by_text(address).first.click()
        expect(page.get_by_role("heading", name="Consent")).to_be_visible()
        expect(page.get_by_text("SHA-256 of the text")).to_be_visible()
        assert (found, complaints) == ([], [])


def test_contact_form__with_a_reply__is_set_up_by_its_texts(
    browser: Browser, service: Application, tenant: Tenant, smtp: MailReceiver
) -> None:
    address = f"ada.{secrets.token_hex(6)}@example.net"
    owner = person_of(tenant)
    with at_the_dashboard(browser, service.base_url, owner, color_scheme="light") as (page, complaints):
        form_page = start_form(page, tenant, "Contact us", "Contact")
        page.get_by_label("Answer each submission by mail").check()
        page.get_by_label("Subject", exact=True).fill("Thank you")
        page.get_by_label("Text", exact=True).fill("Dear {{ data.nmae }}")
        press(page, "Save")
        advice = page.get_by_text("The form has no field “nmae”. Did you mean {{ data.name }}?")
        expect(advice).to_have_count(2)  # at the input, and in the preview
        page.get_by_label("Text", exact=True).fill("Dear ")
        page.get_by_role("group", name="Insert a value").get_by_role("button", name="Name").click()
        expect(page.get_by_label("Text", exact=True)).to_have_value("Dear {{ data.name }}")
        page.get_by_label("Text", exact=True).fill('Dear {{ data.name | default: "reader" }}, we answer soon.')
        press(page, "Preview")
        expect(page.get_by_role("group", name="The reply")).to_contain_text("Dear reader, we answer soon.")
        press(page, "Save")
        saved(page)
        press(page, "Send a test mail to me")
        expect(page.get_by_text(f"A test mail to {owner.email} is on its way.")).to_be_visible()
        smtp.wait_for(owner.email)
        send(page, form_page, Name="Ada", Email=address, Message="Hello")
        (reply,) = smtp.wait_for(address)
        assert "Dear reader, we answer soon." in text_part(reply)
        assert violations(page) == []
        expected = "400 (Bad Request)"  # of the text that was refused
        assert [one for one in complaints if expected not in one] == []
