"""Logging in after many wrong passwords, and many sign-ups: the browser works for a moment."""

import pytest
from playwright.sync_api import Browser, expect

from keys.models import User
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import MailReceiver
from tests.support.accounts import mailed_code, new_email, sign_up
from tests.support.browser import LOGIN, PASSWORD, person_of
from tests.support.browser import Browser as PlainBrowser
from tests.support.chromium.accessibility import violations
from tests.support.chromium.dashboard_page import at_the_dashboard, log_in, press
from tests.support.tenants import make_tenant


@pytest.fixture(scope="module")
def doubted(service: Application) -> User:
    person = person_of(make_tenant())
    for _ in range(2):
        with Client(service.port) as client:
            for _ in range(10):
                PlainBrowser(client).send(LOGIN, login=person.email, password="a guess")
    return person


def test_log_in__after_many_guesses__works_in_a_browser_that_proves_itself(
    browser: Browser, service: Application, doubted: User
) -> None:
    with at_the_dashboard(browser, service.base_url) as (page, complaints):
        log_in(page, doubted)
        expect(page.get_by_text("proves that it is not a robot")).to_be_visible()
        assert violations(page) == []
        page.get_by_label("Password").fill(PASSWORD)
        press(page, "Log in")
        expect(page.get_by_role("heading", name="First steps")).to_be_visible()
        assert complaints == []


def test_log_in__after_many_guesses_without_scripts__works_with_a_mailed_code(
    browser: Browser, service: Application, doubted: User, smtp: MailReceiver
) -> None:
    with at_the_dashboard(browser, service.base_url, java_script_enabled=False) as (page, complaints):
        log_in(page, doubted)
        page.get_by_label("Password").fill(PASSWORD)
        press(page, "Mail me a code")
        expect(page.get_by_text("a code is on its way")).to_be_visible()
        page.get_by_label("Code from a mail").fill(mailed_code(smtp, doubted.email))
        page.get_by_label("Password").fill(PASSWORD)
        press(page, "Log in")
        expect(page.get_by_role("heading", name="First steps")).to_be_visible()
        assert complaints == []


def test_sign_up__after_many_from_the_address__works_in_a_browser_that_proves_itself(
    browser: Browser, service: Application
) -> None:
    with Client(service.port, address="127.0.0.1") as client:
        for _ in range(3):
            sign_up(PlainBrowser(client), new_email())
    with at_the_dashboard(browser, service.base_url) as (page, complaints):
        page.goto("/account/signup/")
        assert violations(page) == []
        page.get_by_label("Organization").fill("Acme")
        page.get_by_label("Email").fill(new_email())
        page.get_by_label("Password").fill(PASSWORD)
        press(page, "Create an account")
        expect(page.get_by_role("heading", name="Verify your email")).to_be_visible()
        assert complaints == []
