"""The service is killed while a visitor presses submit, and started again: the submission arrives, once."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from tests.services.application import Application
from tests.services.client import Client
from tests.support.chromium.site import SHELL, Site
from tests.support.chromium.visitor import CONTACT
from tests.support.submitting import stored_data
from tests.support.tenants import Tenant

READY_SECONDS = 60.0


@pytest.mark.parametrize("moment", ["before it was received", "after it was stored"])
def test_killed_service__started_again__has_the_submission_once(
    clean_context: BrowserContext, site: Site, tenant: Tenant, start_service: Callable[..., Application], moment: str
) -> None:
    service = start_service()
    form_id = tenant.form()
    killed: list[str] = []

    def kill(route: Route) -> None:
        if route.request.method == "POST" and not killed:
            killed.append(moment)
            if moment == "after it was stored":
                assert route.fetch().status == 201  # which the visitor never sees
            service.kill_web()
        route.continue_()

    page = clean_context.new_page()
    clean_context.route(f"{service.base_url}/api/submit*", kill)
    attributes = f'data-key="{tenant.publishable}" data-form-id="{form_id}"'
    tag = f'<script src="{service.base_url}/forms.js" {attributes}></script>'
    page.goto(site.add(SHELL.format(CONTACT + tag)))
    page.locator("[name=name]").fill("Ada")
    page.locator("button").click()
    expect(page.locator("[data-fieldpost-queued]")).to_be_visible()
    service.start_role("web").wait_until(service.is_ready, READY_SECONDS)
    page.reload()
    page.wait_for_function("Object.values(localStorage)[0] === '[]'")
    page.reload()
    with Client(service.port) as api:
        assert stored_data(api, tenant, form_id) == [{"name": "Ada", "email": ""}]
