"""Destinations in a browser: set up by labels and visible text, a preview that follows, pages for axe."""

import json

from playwright.sync_api import Browser, expect

from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import Receiver, Reply
from tests.support.browser import person_of, place
from tests.support.chromium.accessibility import violations_in_both_schemes
from tests.support.chromium.dashboard_page import at_the_dashboard
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, text_field


def test_destination__set_up_tested_and_corrected__by_its_texts(
    browser: Browser, service: Application, tenant: Tenant, api: Client, receiver: Receiver
) -> None:
    form_id = tenant.form(name="Jobs", fields=[text_field("name")])
    submit_and_get_id(api, tenant, form_id, {"name": "Ada <b>Lovelace</b>"})
    receiver.reply = Reply(401, body=b"no")
    with at_the_dashboard(browser, service.base_url, person_of(tenant), color_scheme="light") as (page, complaints):
        page.goto(place(tenant))
        page.get_by_role("link", name="Destinations").click()
        page.get_by_role("link", name="Add your first destination").click()
        page.get_by_role("link", name="HTTP request").click()
        page.get_by_label("URL", exact=True).fill(receiver.url("/crm"))
        page.get_by_label("Headers", exact=True).fill("X-Key: old-secret")
        page.get_by_label("Form", exact=True).select_option("Jobs")
        message = page.get_by_role("region", name="The message")
        page.get_by_label("Template", exact=True).fill('{"who": "{{ data.nmae }}"}')
        expect(page.get_by_text("The form has no field “nmae”.")).to_be_visible()
        page.get_by_label("Template", exact=True).fill('{"who": "{{ data.name }}"}')
        expect(message).to_contain_text('"who": "Ada <b>Lovelace</b>"')
        page.get_by_label("Name", exact=True).fill("CRM")
        found = violations_in_both_schemes(page)
        page.get_by_role("button", name="Create destination").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("CRM")
        page.get_by_role("button", name="Send a test").click()
        expect(page.locator("#log-list").get_by_text("Failed")).to_be_visible()
        expect(page.get_by_text("The server refused our request")).to_be_visible()
        found += violations_in_both_schemes(page)
        receiver.reply = Reply(200)
        page.get_by_role("link", name="Enter the settings again").click()
        page.get_by_label("Headers", exact=True).fill("X-Key: new-secret")
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_text("The destination is active.")).to_be_visible()
        page.get_by_role("button", name="Send a test").click()
        expect(page.locator("#log-list").get_by_text("Delivered")).to_be_visible()
        assert found == []
        assert complaints == []
    sent = receiver.wait_for(2)
    assert [one.headers["x-key"] for one in sent] == ["old-secret", "new-secret"]
    assert json.loads(sent[1].body).keys() == {"who"}
