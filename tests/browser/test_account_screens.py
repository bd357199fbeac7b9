"""The account's own pages, one after the other: nothing for axe, console or policy, and no sideways scrolling."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from keys.devices.logins import begin_login
from keys.models import Membership
from tests.services.application import Application
from tests.support.accounts import code_of, with_authenticator_app
from tests.support.browser import PASSWORD, person_of
from tests.support.chromium.accessibility import violations
from tests.support.chromium.dashboard_page import at_the_dashboard, log_in, make_login_stale, press
from tests.support.chromium.passkeys import add_authenticator, named_host
from tests.support.tenants import make_tenant

PAGES = (
    "/account/2fa/",
    "/account/2fa/webauthn/",
    "/account/2fa/webauthn/add/",
    "/account/2fa/recovery-codes/",
    "/account/2fa/recovery-codes/generate/",
    "/account/2fa/totp/deactivate/",
    "/account/device",
    "/account/email/",
    "/account/password/change/",
    "/account/logout/",
    "/account/inactive/",
    "/account/reauthenticate/",
    "/account/sessions/",
    "/dashboard/account",
    "/dashboard/account/delete",
)
LOOKS = [
    {"color_scheme": "light", "viewport": {"width": 360, "height": 740}},
    {"color_scheme": "dark", "viewport": {"width": 1100, "height": 800}},
]


def complaints_of(page: Page) -> list[str]:
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return [f"{page.url}: {one}" for one in (*violations(page), *(["scrolls sideways"] if wide else []))]


@pytest.mark.parametrize("options", LOOKS, ids=["phone-light", "desk-dark"])
def test_account_pages__in_every_look__are_accessible_and_quiet(
    browser: Browser, service: Application, options: dict[str, Any]
) -> None:
    person = person_of(make_tenant())
    Membership.objects.create(organization=make_tenant().organization, user=person, role="member")
    with at_the_dashboard(browser, named_host(service), **options) as (page, complaints):
        add_authenticator(page)
        log_in(page, person)
        make_login_stale(page)
        page.goto("/account/2fa/totp/activate/")
        found = complaints_of(page)  # the page that asks to confirm
        page.get_by_label("Password").fill(PASSWORD)
        press(page, "Continue")
        expect(page.get_by_role("heading", name="Turn on two-step login")).to_be_visible()
        found += complaints_of(page)
        code = code_of(page.get_by_label("The secret", exact=True).inner_text().strip())
        page.get_by_label("Code from the app").fill(code)
        press(page, "Turn on")
        expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
        page.goto("/account/2fa/webauthn/add/")
        page.get_by_label("Name").fill("A phone with a rather long name")
        press(page, "Add passkey")
        expect(page.get_by_role("link", name="Manage passkeys")).to_be_visible()
        for path in PAGES:
            answer = page.goto(path)
            assert answer is not None
            assert answer.status == 200
            found += complaints_of(page)
        assert (found, complaints) == ([], [])


@pytest.mark.parametrize("options", LOOKS, ids=["phone-light", "desk-dark"])
def test_device_login__by_keyboard_in_every_look__is_accessible_and_quiet(
    browser: Browser, service: Application, options: dict[str, Any]
) -> None:
    person = person_of(make_tenant())
    Membership.objects.create(organization=make_tenant().organization, user=person, role="admin")
    _, code = begin_login("a-laptop-with-a-rather-long-name.local", address="203.0.113.7")
    with at_the_dashboard(browser, service.base_url, person, **options) as (page, complaints):
        page.goto("/account/device")
        expect(page.get_by_label("Code")).to_be_focused()
        page.keyboard.type(code.lower())
        page.keyboard.press("Enter")
        expect(page.get_by_text(code)).to_be_visible()
        found = complaints_of(page)
        page.get_by_label("Organization").select_option(index=1)
        press(page, "Authorize")
        expect(page.get_by_role("heading", name="You are logged in on")).to_be_visible()
        assert (found + complaints_of(page), complaints) == ([], [])


def test_second_step__with_scripts_and_without__is_accessible(browser: Browser, service: Application) -> None:
    person = person_of(make_tenant())
    with_authenticator_app(person)
    with at_the_dashboard(browser, service.base_url) as (page, complaints):
        log_in(page, person)
        assert complaints_of(page) == []
        page.get_by_label("Code").fill("abcdef")
        press(page, "Log in")
        expect(page.get_by_text("That code is not correct.").first).to_be_visible()  # the next page, not this one
        assert complaints_of(page) == []
        assert complaints == []
    with at_the_dashboard(browser, service.base_url, java_script_enabled=False) as (page, complaints):
        page.goto("/account/login/")
        expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()
        expect(page.get_by_text("Log in with a passkey")).to_be_hidden()
        log_in(page, person)
        expect(page.get_by_role("heading", name="Two-step login")).to_be_visible()
        assert complaints == []
