"""
The way of a new customer, from sign-up to a live submission with a webhook and a mail: by labels and visible text, on a
desk and on a phone, with as few screens, inputs and decisions as are counted here.
"""

import re
import secrets

import pytest
from playwright.sync_api import Browser, Frame, Locator, Page, ViewportSize, expect

from tests.services.application import Application
from tests.services.receivers import MailReceiver, Receiver
from tests.support.chromium.dashboard_page import at_the_dashboard
from tests.support.chromium.site import SHELL, Site
from tests.support.mail_links import text_part

DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
MOST = {"screens": 13, "inputs": 7, "presses": 12}  # by a person; on a phone, each use of the menu is one press more
MENU_USES = 2


class Walk:
    """Uses a page as a person does, and counts it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.screens = self.inputs = self.presses = 0
        page.on("framenavigated", self._on_navigated)

    def _on_navigated(self, frame: Frame) -> None:
        self.screens += frame == self.page.main_frame

    def fill(self, label: str, text: str) -> None:
        self._seen(self.page.get_by_role("textbox", name=label)).fill(text)
        self.inputs += 1

    def choose(self, label: str, option: str) -> None:
        self._seen(self.page.get_by_label(label)).select_option(option)
        self.inputs += 1

    def press(self, role: str, name: str) -> None:
        self._seen(self.page.get_by_role(role, name=name, exact=True)).click()  # type: ignore[arg-type]  # a role
        self.presses += 1

    def go_to(self, name: str) -> None:
        """Follow a link of the menu; on a phone, open it first."""
        menu = self.page.get_by_role("button", name="Menu", exact=True)
        if menu.is_visible():
            menu.click()
            self.presses += 1
        self.press("link", name)

    def sees(self, text: str) -> None:
        expect(self._seen(self.page.get_by_text(text))).to_be_visible()

    @staticmethod
    def _seen(found: Locator) -> Locator:
        """Return the visible one: a person sees no other."""
        return found.filter(visible=True).first

    def counted(self) -> dict[str, int]:
        return {"screens": self.screens, "inputs": self.inputs, "presses": self.presses}


def code_in(mail: str) -> str:
    code = re.search(r"^([A-Z0-9-]{6,})\s*$", mail, re.MULTILINE)
    assert code, "the mail has a code on a separate line"
    return code[1]


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_walk__from_sign_up_to_a_live_submission_with_webhook_and_mail__is_short(
    browser: Browser, service: Application, smtp: MailReceiver, site: Site, receiver: Receiver, viewport: ViewportSize
) -> None:
    email = f"ada-{secrets.token_hex(6)}@example.com"
    with at_the_dashboard(browser, service.base_url, viewport=viewport) as (page, complaints):
        walk = Walk(page)
        page.goto("/")
        walk.press("link", "Create an account")
        walk.fill("Email", email)
        walk.fill("Password", "correct horse and a battery")
        walk.fill("Organization", "Analytical Engines")
        walk.press("button", "Create an account")
        walk.sees("Verify your email")
        walk.fill("Code", code_in(text_part(smtp.wait_for(email)[0])))
        walk.press("button", "Continue")

        walk.press("link", "Create your first form")
        walk.press("button", "Start with Contact")
        walk.press("button", "Save and publish")
        walk.sees("It accepts submissions now")
        code = "\n".join(page.get_by_label(name, exact=True).inner_text() for name in ("The form", "Script tag"))

        walk.press("link", "Notifications")
        walk.fill("Mail each submission to", email)
        walk.press("button", "Save addresses")
        walk.press("link", "Create a webhook")
        walk.choose("Form", "All forms")
        walk.fill("URL", receiver.url("/hook"))
        walk.press("button", "Create destination")
        walk.sees("Copy the signing secret now")
        walk.go_to("Submissions")
        walk.sees("No submissions yet")
        walk.sees("Live")

        visitor = page.context.new_page()
        visitor.goto(site.add(SHELL.format(code)))
        visitor.get_by_label("Name").fill("Grace Hopper")
        visitor.get_by_label("Email").fill("grace@example.com")
        visitor.get_by_label("Message").fill("Two cakes for Sunday.")
        visitor.get_by_role("button", name="Send").click()
        expect(visitor.locator("[data-fieldpost-success]")).to_be_visible()
        visitor.close()
        walk.sees("Grace Hopper")

        assert "Two cakes for Sunday." in receiver.wait_for(1)[0].body.decode()
        mails = [text_part(mail) for mail in smtp.wait_for(email, count=3)]  # after the code, and about the webhook
        assert [("Two cakes for Sunday." in mail) for mail in mails].count(True) == 1
        found, more = walk.counted(), MENU_USES if viewport == PHONE else 0
        most = {**MOST, "presses": MOST["presses"] + more}
        assert {name: number for name, number in found.items() if number > most[name]} == {}, found
        assert complaints == []
