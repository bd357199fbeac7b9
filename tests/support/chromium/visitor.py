"""A visitor: one page of a browser, on a site owner's page with forms, and what the browser complained about."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import ConsoleMessage, Locator, Page, Route

from tests.services.client import Client
from tests.support.chromium.site import SHELL, Site
from tests.support.submitting import stored_data
from tests.support.tenants import Tenant

CONTACT = '<form id="contact"><input name="name"><input name="email"><button>Send</button></form>'


class Visitor:
    """`tenant`'s form `form_id` on the site's pages. `forgives` lists what the browser may complain about."""

    def __init__(self, page: Page, site: Site, tenant: Tenant, api: Client, service_url: str) -> None:
        self.page = page
        self.site = site
        self.tenant = tenant
        self.api = api
        self.service_url = service_url
        self.form_id = tenant.form()
        self.forgives: list[str] = []
        self.complaints: list[str] = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def unforgiven(self) -> list[str]:
        return [one for one in self.complaints if not any(part in one for part in self.forgives)]

    def tag(self, form_id: str | None = "", **attributes: str) -> str:
        """Return the script tag, for this visitor's form by default, without a form id for None."""
        named = {"data-key": self.tenant.publishable, **attributes}
        if form_id is not None:
            named["data-form-id"] = form_id or self.form_id
        text = "".join(f' {name}="{value}"' for name, value in named.items())
        return f'<script src="{self.service_url}/forms.js"{text}></script>'

    def open(self, body: str = CONTACT, *, tag: str | None = None, headers: dict[str, str] | None = None) -> Page:
        """Open a page with this body and the script tag at its end."""
        self.page.goto(self.site.add(SHELL.format(body + (self.tag() if tag is None else tag)), headers=headers))
        return self.page

    def send(self, **values: str) -> None:
        """Fill in inputs by their names and press the first button."""
        for name, value in values.items():
            self.page.locator(f"[name={name}]").fill(value)
        self.page.locator("button, input[type=submit]").first.click()

    @property
    def thanks(self) -> Locator:
        return self.page.locator("[data-fieldpost-success]:visible")

    @property
    def error(self) -> Locator:
        return self.page.locator("[data-fieldpost-error]:visible")

    @property
    def queued(self) -> Locator:
        return self.page.locator("[data-fieldpost-queued]:visible")

    def stored(self, form_id: str = "") -> list[dict[str, str]]:
        """Return the values of the stored submissions, oldest first."""
        return stored_data(self.api, self.tenant, form_id or self.form_id)

    def answers(self, *replies: Callable[[Route], Any]) -> list[str]:
        """Play these answers to the first submits, then let the service answer. The list fills with their ids."""
        seen: list[str] = []

        def handle(route: Route) -> None:
            if route.request.method != "POST":
                route.fallback()
                return
            seen.append(route.request.headers["idempotency-key"])
            if len(seen) <= len(replies):
                replies[len(seen) - 1](route)
            else:
                route.continue_()

        self.page.context.route(f"{self.service_url}/api/submit*", handle)
        return seen


def reply(status: int, body: str = "{}", **headers: str) -> Callable[[Route], None]:
    """Return an answer of the service that a test plays; underscores in names stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    cors = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
    return lambda route: route.fulfill(
        status=status, body=body, headers={**cors, "Content-Type": "application/json", **named}
    )


def lose(route: Route) -> None:
    """Send the submission to the service, but not its answer to the page."""
    route.fetch()
    route.abort("connectionreset")


def no_connection(route: Route) -> None:
    route.abort("connectionrefused")
