"""A walk through what a service shows, for tests of whom it connects to meanwhile."""

from tests.services.client import Client
from tests.support.browser import Browser

PAGES = ("", "submissions", "forms", "keys", "members", "plan", "organization", "destinations", "deliveries", "audit")
OPEN = ("/docs", "/api/docs", "/api/schema", "/forms.js", "/readyz", "/account/login/", "/account/signup/")


def walk(client: Client, browser: Browser, slug: str) -> None:
    """Open what everybody sees, then the rooms of an organization."""
    for address in OPEN:
        assert (address, client.get(address).status) == (address, 200)
    for address in (f"/dashboard/o/{slug}/{page}" for page in PAGES):
        assert (address, browser.get(address).status) == (address, 200)
