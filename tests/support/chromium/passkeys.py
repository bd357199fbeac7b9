"""Passkeys with Chromium's virtual authenticator."""

from playwright.sync_api import Page, expect

from tests.services.application import Application
from tests.support.chromium.dashboard_page import press

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def named_host(service: Application) -> str:
    """Return the service under a host name: passkeys do not work with numbers."""
    return f"http://localhost:{service.port}"


def add_authenticator(page: Page) -> None:
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})


def add_passkey(page: Page, name: str) -> None:
    page.goto("/account/2fa/webauthn/add/")
    page.get_by_label("Name").fill(name)
    press(page, "Add passkey")
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
