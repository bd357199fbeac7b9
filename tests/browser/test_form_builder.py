"""The form builder in a browser: adding, dragging, moving by keyboard, the preview, leaving with changes."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, expect

from forms_app.models import Form
from tests.services.application import Application
from tests.support.browser import person_of, place
from tests.support.chromium.accessibility import violations
from tests.support.chromium.dashboard_page import at_the_dashboard
from tests.support.tenants import Tenant, text_field

PHONE = {"width": 390, "height": 600}
FIELDS = [text_field(name, required=False) for name in ("one", "two", "three")]


class Builder(NamedTuple):
    page: Page
    tenant: Tenant
    form_id: str
    complaints: list[str]

    def labels(self) -> list[str]:
        return [box.input_value() for box in self.page.get_by_label("Label").all()]

    def saved(self) -> list[str]:
        form = next(
            one for one in Form.objects.filter(organization=self.tenant.organization) if one.public_id == self.form_id
        )
        return [field["label"] for field in form.fields]

    def save(self) -> None:
        self.page.get_by_role("button", name="Save", exact=True).click()
        expect(self.page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()


@pytest.fixture
def builder(browser: Browser, service: Application, tenant: Tenant) -> Iterator[Builder]:
    form_id = tenant.form(fields=FIELDS)
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, complaints):
        page.goto(place(tenant, f"forms/{form_id}/build"))
        yield Builder(page, tenant, form_id, complaints)
        assert complaints == []


def test_builder__field_added__is_ready_to_be_named_and_shows_in_the_preview(builder: Builder) -> None:
    page = builder.page
    page.get_by_label("New field").select_option("Select")
    page.get_by_role("button", name="Add field").click()
    expect(page.get_by_label("Label").nth(3)).to_be_focused()
    page.keyboard.type("Size")
    page.get_by_label("Options, one per line").last.fill("Small\nLarge")
    preview = page.locator("#preview")
    expect(preview.get_by_text("Size")).to_be_visible()
    expect(preview.locator("option")).to_have_text(["Choose…", "Small", "Large"])
    builder.save()
    assert builder.saved() == ["One", "Two", "Three", "Size"]


def test_builder__file_field__shows_its_limits_and_so_does_the_page_of_the_form(builder: Builder) -> None:
    page, preview = builder.page, builder.page.locator("#preview")
    expect(page.get_by_label("Other types").first).to_be_hidden()
    page.get_by_label("New field").select_option("File")
    page.get_by_role("button", name="Add field").click()
    expect(page.get_by_label("Label").nth(3)).to_be_focused()
    page.keyboard.type("CV")
    expect(page.get_by_label("Options, one per line").last).to_be_hidden()
    page.get_by_role("group", name="Allowed files").get_by_label("PDF").check()
    expect(preview.get_by_text("PDF, at most 10 MiB")).to_be_visible()
    page.get_by_label("Other types").last.fill(".docx")
    page.get_by_label("Number of files").last.fill("2")
    page.get_by_label("MiB per file").last.fill("1.5")
    expect(preview.get_by_text("PDF or DOCX, at most 2 files, 1.5 MiB each")).to_be_visible()
    assert violations(page) == []
    builder.save()
    expect(page.get_by_role("group", name="Allowed files").get_by_label("PDF")).to_be_checked()
    page.goto(f"/f/{builder.form_id}")
    chosen = page.get_by_label("CV")
    expect(chosen).to_have_attribute("accept", "application/pdf,.docx")
    expect(chosen).to_have_accessible_description("PDF or DOCX, at most 2 files, 1.5 MiB each")
    assert page.evaluate("document.forms[0].enctype") == "multipart/form-data"
    files = [{"name": f"{n}.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7"} for n in (1, 2)]
    chosen.set_input_files(files)  # type: ignore[arg-type]  # dictionaries of the shape of FilePayload


def test_builder__type_changed__shows_the_inputs_of_the_new_type(builder: Builder) -> None:
    row = builder.page.locator(".row-card").first
    row.get_by_label("Type", exact=True).select_option("File")
    expect(row.get_by_label("Number of files")).to_have_value("1")
    expect(row.get_by_label("MiB per file")).to_be_visible()
    row.get_by_label("Type", exact=True).select_option("Select")
    expect(row.get_by_label("Options, one per line")).to_be_visible()
    expect(row.get_by_label("Number of files")).to_be_hidden()


def test_builder__label_typed__changes_the_preview_at_once_and_is_never_run(builder: Builder) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    builder.page.get_by_label("Label").first.fill(hostile)
    expect(builder.page.locator("#preview").get_by_text(hostile)).to_be_visible()
    builder.save()
    assert builder.saved()[0] == hostile


def test_builder__alt_and_arrows__move_a_field_keep_the_focus_and_say_where(builder: Builder) -> None:
    page = builder.page
    page.get_by_label("Label").nth(2).focus()
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator("#announcement")).to_have_text("Three, now 2 of 3.")
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator("#announcement")).to_have_text("Three, now 1 of 3.")
    expect(page.get_by_label("Label").first).to_be_focused()
    page.keyboard.press("Alt+ArrowUp")
    assert builder.labels() == ["Three", "One", "Two"]
    builder.save()
    assert builder.saved() == ["Three", "One", "Two"]


def test_builder__buttons__move_and_remove_and_keep_the_focus(builder: Builder) -> None:
    page = builder.page
    down = page.get_by_role("group", name="One").get_by_role("button", name="Down")
    down.click()
    expect(page.locator("#announcement")).to_have_text("One, now 2 of 3.")
    expect(page.get_by_role("group", name="One").get_by_role("button", name="Down")).to_be_focused()
    page.get_by_role("group", name="Two").get_by_role("button", name="Remove").click()
    expect(page.locator("#announcement")).to_have_text("Two removed. 2 fields left. Undo is in its place.")
    expect(page.get_by_role("button", name="Undo removing Two")).to_be_focused()
    builder.save()
    assert builder.saved() == ["One", "Three"]


def test_builder__removed_and_undone_and_duplicated__keeps_edits_and_the_focus(builder: Builder) -> None:
    page = builder.page
    bar = page.locator(".save-bar")
    expect(bar.get_by_role("button", name="Save")).to_be_hidden()
    page.get_by_label("Label").nth(1).fill("Second")
    expect(bar).to_have_text(re.compile(r"Unsaved changes\s+Discard\s+Save"), use_inner_text=True)
    page.get_by_role("group", name="Two").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("button", name="Undo removing Second")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Label").nth(1)).to_be_focused()
    expect(page.get_by_label("Label").nth(1)).to_have_value("Second")
    # Two buttons without a pause: the second acts on the page that the first left.
    page.evaluate(
        "document.querySelectorAll('[id^=copy-]')[0].click(); document.querySelector('[id^=remove-]').click()"
    )
    expect(page.locator("#announcement")).to_have_text("One removed. 3 fields left. Undo is in its place.")
    assert builder.labels() == ["One copy", "Second", "Three"]
    builder.save()
    assert builder.saved() == ["One copy", "Second", "Three"]


def test_builder__input_typed_while_a_button_is_answered__is_kept(builder: Builder) -> None:
    page = builder.page

    def answer_late(route: Route) -> None:
        page.get_by_label("Label").nth(2).fill("Late")
        route.continue_()

    page.route("**/build", answer_late)
    page.get_by_role("button", name="Add field").click()
    expect(page.get_by_label("Label")).to_have_count(4)
    assert builder.labels() == ["One", "Two", "Late", "Text"]


def test_builder__on_a_phone__has_no_focused_input_below_the_bars(
    browser: Browser, service: Application, tenant: Tenant
) -> None:
    form_id = tenant.form(fields=FIELDS)
    with at_the_dashboard(browser, service.base_url, person_of(tenant), viewport=PHONE) as (page, _):
        page.goto(place(tenant, f"forms/{form_id}/build"))
        page.get_by_label("Label").first.fill("Changed")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.get_by_label("Label").nth(1).focus()
        covered = page.evaluate(
            "document.activeElement.getBoundingClientRect().top < "
            "document.querySelector('.save-bar').getBoundingClientRect().bottom"
        )
        assert covered is False
        expect(page.get_by_text("Unsaved changes")).to_be_in_viewport()


def test_builder__handle_dragged__puts_the_field_where_it_is_dropped(builder: Builder) -> None:
    page = builder.page
    handle, last = page.locator(".handle").first, page.locator(".row-card").nth(2)
    start, end = handle.bounding_box(), last.bounding_box()
    assert start
    assert end
    page.mouse.move(start["x"] + 5, start["y"] + 20)
    page.mouse.down()
    page.mouse.move(start["x"] + 5, end["y"] + end["height"] - 5, steps=8)
    page.mouse.up()
    expect(page.locator("#announcement")).to_have_text("One, now 3 of 3.")
    assert builder.labels() == ["Two", "Three", "One"]
    builder.save()
    assert builder.saved() == ["Two", "Three", "One"]


def test_builder__left_with_changes__asks_first_and_not_after_saving(builder: Builder) -> None:
    page, asked = builder.page, []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.get_by_label("Label").first.fill("Changed")
    page.get_by_role("link", name="Settings", exact=True).click()
    expect(page.get_by_label("Label").first).to_have_value("Changed")
    assert asked == ["beforeunload"]
    builder.save()
    page.get_by_role("link", name="Settings", exact=True).click()
    expect(page.get_by_label("Allowed origins")).to_be_visible()
    assert asked == ["beforeunload"]


def test_builder__mistakes__stand_at_their_row_and_nothing_is_lost(
    browser: Browser, service: Application, tenant: Tenant
) -> None:
    form_id = tenant.form(fields=FIELDS)
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, _):
        page.goto(place(tenant, f"forms/{form_id}/build"))
        page.get_by_label("Label").nth(1).fill("")
        page.get_by_label("Label").nth(2).fill("Kept while the other is wrong")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("alert")).to_have_text("Not saved yet: correct the marked fields below.")
        expect(page.get_by_label("Label").nth(1)).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_label("Label").nth(2)).to_have_value("Kept while the other is wrong")


def test_builder__draft_changed_then_published__saves_first_and_asks_nothing(
    browser: Browser, service: Application, tenant: Tenant
) -> None:
    form_id = tenant.form(published=False, fields=FIELDS)
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, complaints):
        page.on("dialog", lambda dialog: complaints.append(f"asked: {dialog.type}"))
        page.goto(place(tenant, f"forms/{form_id}/build"))
        page.get_by_label("Label").first.fill("By Enter")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status").filter(has_text="Saved. ")).to_be_visible()
        expect(page.locator(".lead").get_by_text("Draft")).to_be_visible()
        page.get_by_label("Label").first.fill("Changed")
        page.get_by_role("button", name="Save and publish").click()
        expect(page.get_by_role("status").filter(has_text="Saved and published.")).to_be_visible()
        assert Builder(page, tenant, form_id, complaints).saved() == ["Changed", "Two", "Three"]
        expect(page.locator(".lead").get_by_text("Published")).to_be_visible()
        assert complaints == []


def test_page_of_the_form__while_typing__is_previewed_without_a_history_or_anything_to_send(builder: Builder) -> None:
    page = builder.page
    page.get_by_role("link", name="Page", exact=True).click()
    preview = page.frame_locator("#look-preview")
    expect(preview.get_by_role("button", name="Send")).to_be_visible()
    page.get_by_label("Text of the button").fill("Order the cake")
    expect(preview.get_by_role("button", name="Order the cake")).to_be_visible()
    assert preview.locator("button").evaluate("it => getComputedStyle(it).backgroundColor") != "rgb(0, 0, 0)"
    page.get_by_label("Link back").fill("https://nora.example/cakes")
    page.get_by_role("link", name="Thank-you page").click()
    expect(preview.get_by_role("link", name="Back to nora.example")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile(r"/build$"))
