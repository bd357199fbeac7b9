"""Webhooks in a browser: states that come and go by themselves, and every page of them for axe, light and dark."""

import re

from playwright.sync_api import Browser, expect

from config.base.ids import Prefix, decode_id
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import Receiver, Reply
from tests.services.waiting import eventually
from tests.support.browser import person_of, place
from tests.support.chromium.accessibility import violations_in_both_schemes
from tests.support.chromium.dashboard_page import at_the_dashboard
from tests.support.deliveries import deliveries_of
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant
from tests.support.webhooks import register
from webhooks.models import Receiver as ReceiverRow
from webhooks.receivers.registration import change_webhook


def webhook_of(public_id: str) -> ReceiverRow:
    return ReceiverRow.objects.select_related("form").get(pk=decode_id(Prefix.WEBHOOK, public_id))


def test_webhooks__in_every_state__are_accessible_and_quiet(
    browser: Browser, service: Application, tenant: Tenant, api: Client, receiver: Receiver
) -> None:
    receiver.reply = Reply(500, body=b"<b>down</b>")
    form_id = tenant.form(notification_recipients=["ada@example.com"])
    disabled = register(api, tenant, receiver.url("/disabled"), form_id)["id"]
    change_webhook(webhook_of(disabled), {"status": "disabled"})
    failing = register(api, tenant, receiver.url("/failing"), form_id)["id"]
    pk = submit_and_get_id(api, tenant, form_id, {"message": "Hello", "_webhook": receiver.url("/named")})
    receiver.wait_for(1)
    own = deliveries_of(tenant)
    eventually(lambda: own.filter(status="pending", attempt_count__gt=0).exists(), because="the failure is recorded")
    pending = ReceiverRow.objects.get(organization=tenant.organization, status="pending").public_id
    with at_the_dashboard(browser, service.base_url, person_of(tenant), color_scheme="light") as (page, complaints):
        found = []
        for path in (
            *("destinations", "deliveries", f"deliveries?form={form_id}&status=undelivered", f"submissions/{pk}"),
            *(f"destinations/{one}" for one in (disabled, failing, pending)),
        ):
            page.goto(place(tenant, path))
            page.locator("main details").evaluate_all("all => all.forEach(one => { one.open = true })")
            found += [f"{path}: {one}" for one in violations_in_both_schemes(page)]
        page.goto(place(tenant, f"destinations/{failing}/replay"))
        page.get_by_label("Which").select_option("all")
        page.get_by_role("button", name="Count first").click()
        expect(page.get_by_role("status")).to_contain_text("Nothing has been sent yet")
        found += [f"replay: {one}" for one in violations_in_both_schemes(page)]
        page.goto(place(tenant, f"destinations/{failing}/rotate"))
        page.get_by_role("button", name="Rotate secret").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Secret rotated")
        page.locator("main details").evaluate_all("all => all.forEach(one => { one.open = true })")
        found += [f"secret: {one}" for one in violations_in_both_schemes(page)]
        assert found == []
        assert complaints == []


def test_test_event__result__comes_into_the_log_by_itself(
    browser: Browser, service: Application, tenant: Tenant, api: Client, receiver: Receiver
) -> None:
    receiver.reply = Reply(500, body=b"not today", delay=1.0)
    webhook = register(api, tenant, receiver.url("/hook"))["id"]
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, complaints):
        page.goto(place(tenant, f"destinations/{webhook}"))
        page.get_by_role("button", name="Send a test").click()
        log = page.locator("#log-list")
        expect(log.get_by_text("Failed")).to_be_visible()
        results = page.get_by_role("region", name="Results")
        expect(results).to_contain_text("0 % Of 1 delivery")
        expect(results).to_contain_text("Everything is sent")
        log.get_by_text("1 attempt").click()
        expect(log.get_by_text("not today")).to_be_visible()
        expect(log).not_to_have_attribute("hx-get", re.compile(".*"))
        assert complaints == []


def test_story__answer_that_was_opened__stays_open_while_the_story_is_fetched_again(
    browser: Browser, service: Application, tenant: Tenant, api: Client, receiver: Receiver
) -> None:
    receiver.reply = Reply(500, body=b"not today")
    form_id = str(register(api, tenant, receiver.url("/hook"))["formId"])
    pk = submit_and_get_id(api, tenant, form_id)
    story = place(tenant, f"submissions/{pk}/story")
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, complaints):
        page.goto(place(tenant, f"submissions/{pk}"))
        answer = page.locator("#timeline details").first
        answer.locator("summary").click()
        for _ in range(2):
            with page.expect_response(lambda answered: answered.url.endswith(story)) as fetched:
                pass
            assert fetched.value.status == 200
        expect(answer.get_by_text("not today")).to_be_visible()
        receiver.reply = Reply(204)
        page.get_by_role("button", name="Send again").click()
        # The retry after five seconds may have begun already.
        sent = page.get_by_text("It is being sent again.").or_(page.get_by_text("This delivery is being sent now."))
        expect(sent).to_be_visible()
        expect(page.locator("#timeline").get_by_text("Delivered")).to_be_visible()
        expect(page.locator("#timeline")).not_to_have_attribute("hx-get", re.compile(".*"))
        assert complaints == []
