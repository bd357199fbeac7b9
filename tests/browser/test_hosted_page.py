"""The hosted page: accessible in both colour schemes, usable without scripts and by keyboard."""

from typing import Any

import pytest
from playwright.sync_api import expect

from keys.branding.changes import set_accent
from tests.support.chromium.accessibility import SCHEMES, violations
from tests.support.chromium.visitor import CONTACT, Visitor
from tests.support.tenants import UNHURRIED

ALL_TYPES: list[dict[str, Any]] = [
    {"name": "name", "label": "Name", "type": "Text", "required": True, "placeholder": "Ada Lovelace"},
    {"name": "email", "label": "Email", "type": "Email", "required": True},
    {"name": "about", "label": "About you", "type": "Textarea", "required": False},
    {"name": "age", "label": "Age", "type": "Number", "required": False},
    {"name": "phone", "label": "Phone", "type": "Phone", "required": False},
    {"name": "site", "label": "Website", "type": "URL", "required": False},
    {"name": "day", "label": "Day", "type": "Date", "required": False},
    {"name": "size", "label": "Size", "type": "Select", "required": True, "options": ["S", "M", "L"]},
    {"name": "terms", "label": "I agree", "type": "Checkbox", "required": True},
    {"name": "topics", "label": "Topics", "type": "Checkbox", "required": False, "options": ["News", "Offers"]},
    {"name": "source", "label": "Source", "type": "Hidden", "required": False},
]
CV = {"name": "cv", "label": "CV", "type": "File", "required": False, "accept": [".pdf"], "help": "Without a photo."}

NO_SCRIPT = pytest.mark.parametrize("context_options", [{"java_script_enabled": False}], indirect=True)


@pytest.mark.parametrize("context_options", SCHEMES, indirect=True)
def test_hosted_page__with_and_without_errors__has_nothing_for_axe_to_find(plain_visitor: Visitor) -> None:
    form_id = plain_visitor.tenant.form(fields=[*ALL_TYPES, CV], name="Sign up")
    plain_visitor.forgives = ["400", "404"]
    page = plain_visitor.page
    page.goto(f"{plain_visitor.service_url}/f/{form_id}")
    assert violations(page) == []
    page.evaluate("document.forms[0].noValidate = true")
    page.get_by_label("Email").fill("wrong")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("This was not sent yet")
    expect(page.get_by_label("CV")).to_have_accessible_description("Without a photo. PDF, at most 10 MiB")
    assert violations(page) == []
    page.goto(f"{plain_visitor.service_url}/f/{form_id}/thanks")
    assert violations(page) == []
    page.goto(f"{plain_visitor.service_url}/f/nothing")
    assert violations(page) == []


@NO_SCRIPT
def test_hosted_page__without_scripts__takes_every_kind_of_field(plain_visitor: Visitor) -> None:
    form_id = plain_visitor.tenant.form(fields=ALL_TYPES, name="Sign up", **UNHURRIED)
    page = plain_visitor.page
    page.goto(f"{plain_visitor.service_url}/f/{form_id}?source=poster&name=Prefilled&strange=x")
    expect(page.get_by_label("Name")).to_have_value("Prefilled")
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Email").fill("ada@example.com")
    page.get_by_label("About you").fill("Hello <b>you</b>")
    page.get_by_label("Age").fill("36.5")
    page.get_by_label("Phone").fill("+44 20 7946 0000")
    page.get_by_label("Website").fill("https://example.com")
    page.get_by_label("Day").fill("2026-01-31")
    page.get_by_label("Size").select_option("M")
    page.get_by_label("I agree").check()
    page.get_by_label("News").check()
    page.get_by_label("Offers").check()
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    values = {"name": "Ada", "email": "ada@example.com", "about": "Hello <b>you</b>", "age": "36.5"}
    values |= {"phone": "+44 20 7946 0000", "site": "https://example.com", "day": "2026-01-31", "size": "M"}
    values |= {"terms": "yes", "topics": "News, Offers", "source": "poster"}
    assert plain_visitor.stored(form_id) == [values]


@NO_SCRIPT
def test_plain_form_of_another_site__without_scripts__is_thanked_redirected_or_kept(plain_visitor: Visitor) -> None:
    visitor, page = plain_visitor, plain_visitor.page
    visitor.forgives = ["400"]
    form_id = visitor.tenant.form(fields=ALL_TYPES[:2])
    action = f"{visitor.service_url}/f/{form_id}"
    html = CONTACT.replace("<form", f'<form method="post" action="{action}"')
    html = html.replace("<button", '<textarea name="extra"></textarea><button')
    visitor.open(html, tag="")
    visitor.send(name="Ada", email="wrong", extra="my long <story>")
    expect(page.get_by_role("alert")).to_contain_text("Email must be an email address.")
    expect(page.get_by_label("Name")).to_have_value("Ada")
    expect(page.get_by_label("extra")).to_have_value("my long <story>")
    page.get_by_label("Email").fill("ada@example.com")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert visitor.stored(form_id) == [{"name": "Ada", "email": "ada@example.com", "extra": "my long <story>"}]


def test_hosted_page__of_an_organization_with_an_accent__shows_it_under_its_policy(plain_visitor: Visitor) -> None:
    """The policy allows the rule by its hash: a blank more in it, and the button would be ours."""
    visitor, page = plain_visitor, plain_visitor.page
    set_accent(visitor.tenant.organization, "#c2410c", by=None)
    page.goto(f"{visitor.service_url}/f/{visitor.tenant.form()}")
    expect(page.get_by_role("button", name="Send")).to_have_css("background-color", "rgb(194, 65, 12)")


@NO_SCRIPT
def test_plain_form_of_an_allowed_site__after_thanks__leads_back_to_it(plain_visitor: Visitor) -> None:
    visitor, page = plain_visitor, plain_visitor.page
    form_id = visitor.tenant.form(fields=ALL_TYPES[:2], allowed_origins=[visitor.site.origin])
    visitor.open(CONTACT.replace("<form", f'<form method="post" action="{visitor.service_url}/f/{form_id}"'), tag="")
    visitor.send(name="Ada", email="ada@example.com")
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    link = page.get_by_role("link", name="Back to")
    expect(link).to_have_attribute("href", f"{visitor.site.origin}/")


@NO_SCRIPT
def test_next_of_a_plain_form__survives_the_error_page(plain_visitor: Visitor) -> None:
    visitor, page = plain_visitor, plain_visitor.page
    visitor.forgives = ["400"]
    form_id = visitor.tenant.form(fields=ALL_TYPES[:2])
    action = f"{visitor.service_url}/f/{form_id}"
    html = CONTACT.replace("<form", f'<form method="post" action="{action}"')
    visitor.open(html.replace("<button", '<input type="hidden" name="_next" value="thanks"><button'), tag="")
    visitor.send(name="Ada", email="wrong")
    page.get_by_label("Email").fill("ada@example.com")
    page.get_by_role("button", name="Send").click()
    page.wait_for_url(f"{visitor.site.origin}/thanks")


def test_hosted_page__in_a_frame__is_shown_where_the_form_allows_it_alone(plain_visitor: Visitor) -> None:
    visitor = plain_visitor
    visitor.forgives = ["frame", "Content Security Policy"]
    welcome = visitor.tenant.form(allowed_origins=[visitor.site.origin], name="Welcome", **UNHURRIED)
    closed = visitor.tenant.form(name="Closed")
    frames = "".join(f'<iframe src="{visitor.service_url}/f/{form}"></iframe>' for form in (welcome, closed))
    page = visitor.open(frames, tag="")
    frame = page.frame_locator("iframe >> nth=0")
    expect(frame.get_by_role("heading", name="Welcome")).to_be_visible()
    frame.get_by_label("Message").fill("From a frame")
    frame.get_by_role("button", name="Send").click()
    expect(frame.get_by_role("heading", name="Thank you")).to_be_visible()
    assert visitor.stored(welcome) == [{"email": "", "message": "From a frame"}]
    expect(page.frame_locator("iframe >> nth=1").get_by_role("heading", name="Closed")).to_have_count(0)


def test_hosted_page__by_keyboard_alone__works(plain_visitor: Visitor) -> None:
    form_id = plain_visitor.tenant.form(fields=ALL_TYPES[:2], **UNHURRIED)
    page = plain_visitor.page
    page.goto(f"{plain_visitor.service_url}/f/{form_id}")
    for text in ("Ada", "ada@example.com"):
        page.keyboard.press("Tab")
        page.keyboard.type(text)
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Send")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert plain_visitor.stored(form_id) == [{"name": "Ada", "email": "ada@example.com"}]
