"""Importing a file in the browser: a mapping on screen, progress that goes on by itself, nothing for axe to find."""

from playwright.sync_api import Browser, FilePayload, expect

from submissions.models import Submission
from tests.services.application import Application
from tests.support.browser import person_of, place
from tests.support.chromium.accessibility import violations_in_both_schemes
from tests.support.chromium.dashboard_page import at_the_dashboard, press
from tests.support.tenants import make_tenant

ROWS = 2_600  # of more than one request


def test_import__file_chosen_and_mapped__comes_in_while_the_page_is_open(
    browser: Browser, service: Application
) -> None:
    tenant = make_tenant()
    text = "When,E-mail\n" + "".join(f"2024-01-31 09:30:00,ada{n}@example.com\n" for n in range(ROWS)) + "never,x\n"
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, complaints):
        page.goto(place(tenant, f"forms/{tenant.default_form_id}"))
        page.get_by_role("link", name="Import a file", exact=True).click()
        found = violations_in_both_schemes(page)
        file: FilePayload = {"name": "old.csv", "mimeType": "text/csv", "buffer": text.encode()}
        page.get_by_label("File", exact=True).set_input_files(file)
        page.get_by_role("main").get_by_role("button", name="Show the rows", exact=True).first.click()
        expect(page.get_by_text("Say which column has the time of submission.")).to_be_visible()
        page.locator("[name=use-0]").select_option("Time of submission")
        page.locator("[name=name-1]").fill("email")
        page.locator("button[name=do][value=show]").last.click()
        expect(page.get_by_text("ada9@example.com")).to_be_visible()
        found += violations_in_both_schemes(page)
        press(page, "Import 2,601 rows")
        expect(page.get_by_text("2,601 of 2,601 rows")).to_be_visible(timeout=60_000)
        expect(page.get_by_role("link", name="Show the submissions")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download them as CSV").click()
        assert "never" in download.value.path().read_text("utf-8-sig")
        found += violations_in_both_schemes(page)
    assert (found, complaints) == ([], [])
    stored = Submission.objects.filter(organization=tenant.organization)
    assert (stored.count(), set(map(tuple, stored.values_list("data", flat=True)))) == (ROWS, {("email",)})
