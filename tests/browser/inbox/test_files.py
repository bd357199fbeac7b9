"""Files of submissions in a browser: pictures are drawn, in light and dark, next to the list and on their own page."""

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.services.application import Application
from tests.support.browser import person_of, place
from tests.support.chromium.accessibility import violations
from tests.support.chromium.dashboard_page import at_the_dashboard
from tests.support.files.rows import Sent, file_field, picture, put_with_files
from tests.support.tenants import Tenant, text_field

WIDE: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
NAME = f"{'a-very-long-name-of-a-file-' * 4}.png"


@pytest.fixture
def form_id(tenant: Tenant) -> str:
    """Return a form with one submission of four files: two pictures, one of them withheld, and two documents."""
    fields = [text_field("name"), file_field("cv", label="Your CV"), file_field("photos", label="Photos", maxFiles=3)]
    made = tenant.form(name="Apply", fields=fields)
    photos = [picture(NAME, size=(640, 480), field="photos"), picture("ill.png", field="photos", scan="infected")]
    put_with_files(tenant, made, [Sent(scan="clean"), Sent("letter.pdf", scan="pending"), *photos], {"name": "Ada"})
    return made


def drawn(page: Page) -> None:
    """Expect one preview, drawn from pixels, and everything else named."""
    image = page.get_by_role("img", name=f"Preview of {NAME}")
    image.scroll_into_view_if_needed()
    expect(image).to_have_js_property("naturalWidth", 640)
    expect(page.get_by_role("img", name="Preview of")).to_have_count(1)
    expect(page.get_by_role("link", name="Download")).to_have_count(2)
    expect(page.get_by_role("region", name="Files")).to_contain_text("Withheld: the virus scanner found it infected.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_submission__with_files__draws_its_picture_and_shows_digests_on_demand(
    browser: Browser, service: Application, tenant: Tenant, form_id: str, scheme: str, viewport: ViewportSize
) -> None:
    options = {"color_scheme": scheme, "viewport": viewport}
    with at_the_dashboard(browser, service.base_url, person_of(tenant), **options) as (page, complaints):
        page.goto(place(tenant, f"submissions?form={form_id}"))
        expect(page.get_by_role("img", name=f"Files: cv.pdf, letter.pdf, {NAME}, ill.png")).to_have_count(1)
        assert violations(page) == []
        page.locator("[data-opens]").click()
        drawn(page)
        digest = page.get_by_role("region", name="Files").locator("code").first
        expect(digest).to_be_hidden()
        page.get_by_text("SHA-256").first.click()
        expect(digest).to_be_visible()
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert complaints == []
