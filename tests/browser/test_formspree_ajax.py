"""`@formspree/ajax` from npm, unmodified, on a page whose endpoint we are (docs/contract.md 6.12)."""

from playwright.sync_api import Page, expect

from tests.support.chromium.coverage import TOOLS
from tests.support.chromium.visitor import Visitor
from tests.support.hosted_posts import FIELDS

LIBRARY = TOOLS / "node_modules" / "@formspree" / "ajax" / "dist" / "global.js"
FORM = """<form id="f"><input name="name" data-fs-field><span data-fs-error="name"></span>
<input name="email" data-fs-field><span data-fs-error="email"></span>
<div data-fs-success>Thanks</div><div data-fs-error></div><button data-fs-submit-btn>Send</button></form>"""


def open_page(visitor: Visitor) -> Page:
    page = visitor.open(FORM, tag="")
    page.add_script_tag(content=LIBRARY.read_text())
    config = {"formElement": "#f", "formId": visitor.form_id, "origin": visitor.service_url}
    page.evaluate("config => window.formspree('initForm', config)", config)
    return page


def test_formspree_ajax__reports_field_errors__then_submits(plain_visitor: Visitor) -> None:
    plain_visitor.form_id = plain_visitor.tenant.form(fields=FIELDS)
    plain_visitor.forgives = ["400"]
    page = open_page(plain_visitor)

    plain_visitor.send(name="", email="wrong")
    expect(page.locator("[data-fs-error=name]")).to_have_text("Name is required.")
    expect(page.locator("[data-fs-error=email]")).to_have_text("Email must be an email address.")
    expect(page.locator("[name=email]")).to_have_attribute("aria-invalid", "true")

    plain_visitor.send(name="Ada", email="ada@example.com")
    expect(page.locator("[data-fs-success]")).to_be_visible()
    assert plain_visitor.stored() == [{"name": "Ada", "email": "ada@example.com"}]


def test_formspree_ajax__form_that_takes_nothing__says_so(plain_visitor: Visitor) -> None:
    plain_visitor.form_id = plain_visitor.tenant.form(published=False)
    plain_visitor.forgives = ["403"]
    page = open_page(plain_visitor)

    plain_visitor.send(name="Ada")

    expect(page.locator("[data-fs-error='']")).to_contain_text("does not take submissions now")
