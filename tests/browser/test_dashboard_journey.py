"""
Somebody who has never seen the product: from its first page to a first submission that arrives live, and further.

Written from what the screens say: buttons, links, labels and headings, never an address of the dashboard's.
"""

import csv
import datetime as dt
import io
import re
import secrets

from playwright.sync_api import Browser, Page, expect

from config.base.times import now
from tests.services.application import Application
from tests.services.receivers import MailReceiver, Receiver
from tests.support.browser import person_of, place
from tests.support.chromium.dashboard_page import at_the_dashboard, press
from tests.support.chromium.site import SHELL, Site
from tests.support.mail_links import text_part
from tests.support.rows import put, put_many
from tests.support.tenants import Tenant

PASSWORD = "correct horse and a battery"
CONTACT = (
    '<form><input name="name"><input name="email"><textarea name="message"></textarea><button>Send</button></form>'
)


def link(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()


def heading(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", name=text, exact=True).first).to_be_visible()


def sign_up(page: Page, smtp: MailReceiver, email: str) -> None:
    page.goto("/")
    link(page, "Create an account")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Organization").fill("Analytical Engines")
    press(page, "Create an account")
    heading(page, "Verify your email")
    code = re.search(r"^([A-Z0-9-]{6,})\s*$", text_part(smtp.wait_for(email)[0]), re.MULTILINE)
    assert code, "the mail has a code on a separate line"
    page.get_by_label("Code").fill(code[1])
    press(page, "Continue")
    heading(page, "First steps")


def make_and_publish_a_form(page: Page) -> None:
    link(page, "Create your first form")
    page.locator("#new-form").get_by_label("Name").fill("Contact us")
    press(page, "Start with Contact")
    heading(page, "Preview")
    page.get_by_label("New field").select_option("Phone")
    press(page, "Add field")
    expect(page.locator("#preview").get_by_text("Phone")).to_be_visible()
    press(page, "Save")
    expect(page.get_by_role("status").get_by_text("Saved.")).to_be_visible()
    press(page, "Save and publish")
    expect(page.get_by_text("Saved and published. It accepts submissions now")).to_be_visible()


def send_from_a_page(page: Page, tag: str, site: Site) -> None:
    visitor = page.context.new_page()
    visitor.goto(site.add(SHELL.format(CONTACT + tag)))
    visitor.locator("[name=name]").fill("Ada <b>Lovelace</b>")
    visitor.locator("[name=email]").fill("ada@example.com")
    visitor.locator("[name=message]").fill("=1+1 is two")
    visitor.get_by_role("button", name="Send").click()
    expect(visitor.locator("[data-fieldpost-success]")).to_be_visible()
    visitor.close()


def test_journey__from_sign_up__to_a_first_live_submission_and_its_deliveries(
    browser: Browser, service: Application, smtp: MailReceiver, site: Site, receiver: Receiver
) -> None:
    email = f"ada-{secrets.token_hex(6)}@example.com"
    with at_the_dashboard(browser, service.base_url) as (page, complaints):
        sign_up(page, smtp, email)
        make_and_publish_a_form(page)
        tag = page.get_by_label("Script tag", exact=True).inner_text()

        # The list is open and empty when the visitor sends; nothing is reloaded.
        page.get_by_role("main").get_by_role("link", name="Submissions", exact=True).click()
        expect(page.get_by_text("No submissions yet")).to_be_visible()
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        page.evaluate("window.untouched = true")
        send_from_a_page(page, tag, site)
        row = page.get_by_role("row").filter(has_text="Ada <b>Lovelace</b>")
        expect(row).to_be_visible()
        expect(row).to_contain_text("ada@example.com")
        assert page.evaluate("window.untouched")

        # Spam and back.
        row.get_by_role("checkbox").check()
        press(page, "Mark as spam")
        expect(page.get_by_text("1 submission is marked as spam.")).to_be_visible()
        views = page.get_by_role("navigation", name="Views")
        views.get_by_role("link", name="Spam").click()
        page.get_by_role("row").filter(has_text="Lovelace").get_by_role("checkbox").check()
        press(page, "Not spam")
        expect(page.get_by_text("1 submission is marked as not spam")).to_be_visible()
        views.get_by_role("link", name="Inbox").click()

        # Export the filtered list.
        link(page, "Export")
        expect(page.get_by_text("1 submission", exact=True)).to_be_visible()
        with page.expect_download() as download:
            press(page, "Download 1 row")
        exported = list(csv.DictReader(io.StringIO(download.value.path().read_text("utf-8-sig"))))
        assert [line["name"] for line in exported] == ["Ada <b>Lovelace</b>"]
        assert exported[0]["message"] == "'=1+1 is two"
        expect(page.get_by_text("Done. 1 row in the file.")).to_be_visible()

        # A webhook: secret once, test event, log, replay with a dry run first.
        link(page, "Destinations")
        link(page, "New destination")
        link(page, "Webhook")
        page.get_by_label("Form").select_option("Contact us")
        page.get_by_label("URL").fill(receiver.url("/hook"))
        press(page, "Create destination")
        assert page.get_by_label("The signing secret", exact=True).inner_text().startswith("whsec_")
        link(page, "I have copied it")
        press(page, "Send a test")
        receiver.wait_for(1)
        expect(page.get_by_role("row").filter(has_text="Test event")).to_contain_text("Delivered")
        send_from_a_page(page, tag, site)
        told = receiver.wait_for(2)[1]
        page.get_by_label("More actions").click()
        link(page, "Replay deliveries…")
        page.get_by_label("Which").select_option("All of these")
        press(page, "Count first")
        expect(page.get_by_text("1 delivery matches. Nothing has been sent yet.")).to_be_visible()
        press(page, "Send 1 again")
        expect(page.get_by_text("1 delivery is being sent again.")).to_be_visible()
        again = receiver.wait_for(3)[2]
        assert (again.headers["webhook-id"], again.body) == (told.headers["webhook-id"], told.body)

        # The story of the submission, and a key for a server.
        link(page, "Submissions")
        page.get_by_role("row").filter(has_text="Lovelace").get_by_role("link").nth(0).click()
        expect(page.get_by_text("Accepted and stored")).to_be_visible()
        expect(page.get_by_text("Delivered", exact=True)).to_be_visible()
        press(page, "Next row")
        expect(page.get_by_text("Marked as not spam")).to_be_visible()
        link(page, "Access Keys")
        link(page, "Generate New Key")
        page.get_by_label("Name").fill("Import script")
        press(page, "Generate key")
        key = page.get_by_label("The key", exact=True).inner_text()
        assert re.fullmatch(r"fp_[0-9A-Za-z]{46}", key)
        link(page, "I have copied it")
        assert key not in page.content()
        expect(page.get_by_role("row").filter(has_text="Import script")).to_contain_text(key[-4:])
        assert complaints == []


def test_live_list__that_fills__counts_on_in_its_footer_and_leads_to_older_pages(
    browser: Browser, service: Application, tenant: Tenant
) -> None:
    form_id = tenant.form()
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, complaints):
        page.goto(place(tenant, f"submissions?form={form_id}"))
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        footer, rows = page.locator(".pages .where"), page.locator("tbody tr")
        put(tenant, form_id, {"n": "0"})
        expect(footer).to_have_text("1 · page 1 of 1")
        expect(page.get_by_role("link", name="Older")).to_be_hidden()
        put_many(tenant, form_id, [{"n": str(number)} for number in range(1, 27)])
        expect(footer).to_have_text("27 · page 1 of 2")
        expect(rows).to_have_count(27)
        page.get_by_role("link", name="Oldest").click()
        expect(footer).to_have_text(re.compile(r"^\s*27 · page 2 of 2\s*$"))
        expect(rows).to_have_count(2)
        assert complaints == []


def test_chart_and_tabs__by_pointer_and_keyboard__show_days_and_change_without_a_reload(
    browser: Browser, service: Application, tenant: Tenant
) -> None:
    form_id, moment = tenant.form(), now()
    put_many(tenant, form_id, [{"n": str(number)} for number in range(3)])
    put(tenant, form_id, {"n": "old"}, moment - dt.timedelta(days=29))
    put(tenant, form_id, {"n": "junk"}, moment - dt.timedelta(days=29), spam=True)
    first = f"{moment - dt.timedelta(days=29):%a, %b} {(moment - dt.timedelta(days=29)).day}"
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, complaints):
        page.goto(place(tenant, f"forms/{form_id}"))
        page.evaluate("window.untouched = true")
        chart, tip = page.locator("[data-chart]"), page.locator(".tip")
        frame = page.locator(".plot").bounding_box()
        assert frame
        bars = [box for bar in page.locator(".kept, .junk").all() if (box := bar.bounding_box())]
        assert len(bars) == 3
        inside = [frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"] for box in bars]
        assert all(inside), "every bar is whole"
        page.mouse.move(frame["x"] + 2, frame["y"] + 5)  # above the bar: the height of a day counts
        expect(tip).to_have_text(f"{first}1 submission1 spam")
        chart.focus()
        page.keyboard.press("End")
        expect(tip).to_contain_text("today so far3 submissions0 spam")
        page.keyboard.press("ArrowLeft")
        expect(tip).to_contain_text("0 submissions")
        page.keyboard.press("Escape")
        expect(tip).to_be_hidden()
        link(page, "7 days")
        expect(page.locator("#activity .amount")).to_have_text("3")
        expect(page.locator(".day")).to_have_count(7)
        page.locator("[data-chart][tabindex]").press("Home")  # once the script has seen the new chart
        expect(tip).to_contain_text("0 submissions")
        assert page.url.endswith("?days=7")
        link(page, "React")
        expect(page.get_by_label("React component", exact=True)).to_contain_text(f"/f/{form_id}")
        press(page, "Send a test submission")
        expect(page.get_by_text("Without deliveries")).to_be_visible()
        expect(page.get_by_role("button", name="Send another")).to_be_focused()
        assert page.evaluate("window.untouched")
        press(page, "Delete it")
        expect(page.get_by_text("The test submission is deleted.")).to_be_visible()
        assert complaints == []
