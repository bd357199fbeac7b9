"""Somebody in front of the dashboard: a page of a browser that is logged in, and what the browser complained about."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from keys.models import User
from tests.services.client import Client
from tests.support.browser import PASSWORD, logged_in, make_stale


class Complaints(list[str]):
    """Unexpected messages of the console: errors, warnings, refusals by the page's policy."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.append(f"error: {error}"))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.append(f"{message.type}: {message.text}")


@contextmanager
def at_the_dashboard(
    browser: Browser, base_url: str, user: User | None = None, **options: Any
) -> Iterator[tuple[Page, Complaints]]:
    """Open a page, logged in as this person; relative addresses are the service's."""
    context: BrowserContext = browser.new_context(base_url=base_url, **options)
    context.set_default_timeout(15_000)
    if user is not None:
        with Client(int(base_url.rpartition(":")[2])) as client:
            cookies = logged_in(client, user).cookies
        context.add_cookies(
            [{"name": settings.SESSION_COOKIE_NAME, "value": cookies[settings.SESSION_COOKIE_NAME], "url": base_url}]
        )
    page = context.new_page()
    try:
        yield page, Complaints(page)
    finally:
        context.close()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def make_login_stale(page: Page) -> None:
    """Make the page's login 11 minutes old."""
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    make_stale(cookies[settings.SESSION_COOKIE_NAME])


def log_in(page: Page, user: User) -> None:
    page.goto("/account/login/")
    page.get_by_label("Email").fill(user.email)
    page.get_by_label("Password").fill(PASSWORD)
    with page.expect_event("domcontentloaded"):  # of the next page: until then a script may find no document
        press(page, "Log in")


def log_out(page: Page) -> None:
    page.goto("/account/logout/")
    page.get_by_role("main").get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
