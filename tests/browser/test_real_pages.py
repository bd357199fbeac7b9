"""Pages as people have them, which need only the script tag to work; and pages with a strict policy."""

import gzip

import pytest
from playwright.sync_api import expect

from forms_app.models import Form
from forms_app.snippets import script_tag
from tests.support.chromium.site import PAGES
from tests.support.chromium.visitor import CONTACT, Visitor

MAX_GZIPPED = 3 * 1024  # bytes of forms.js (docs/contract.md 6.1)


def open_page(visitor: Visitor, name: str) -> None:
    html = (PAGES / name).read_text().replace("{{tag}}", visitor.tag())
    visitor.page.goto(visitor.site.add(html))


def test_bootstrap_contact_form__with_its_own_validation__works(plain_visitor: Visitor) -> None:
    visitor, page = plain_visitor, plain_visitor.page
    open_page(visitor, "bootstrap.html")
    page.get_by_role("button", name="Order").click()
    expect(page.get_by_text("Please tell us your name.")).to_be_visible()
    assert visitor.stored() == []
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("Email").fill("ada@example.com")
    page.get_by_label("Cake").select_option("Lemon")
    page.get_by_role("button", name="Order").click()
    expect(visitor.thanks).to_have_text("Submission received.")
    values = {"name": "Ada", "email": "ada@example.com", "cake": "Lemon", "comments": "", "newsletter": "yes"}
    assert visitor.stored() == [values]


def test_webflow_export__whose_own_script_takes_every_form__works(plain_visitor: Visitor) -> None:
    visitor, page = plain_visitor, plain_visitor.page
    open_page(visitor, "webflow.html")
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Email Address").fill("ada@example.com")
    page.get_by_label("Call me back").check()
    page.get_by_role("button", name="Submit").click()
    expect(visitor.thanks).to_have_text("Submission received.")
    expect(page.locator(".w-form-fail")).not_to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "email": "ada@example.com", "checkbox": "on", "radio": "Website"}]


def test_table_layout_of_1998__with_its_form_between_table_and_row__works(plain_visitor: Visitor) -> None:
    visitor, page = plain_visitor, plain_visitor.page
    open_page(visitor, "table-1998.html")
    visitor.page.locator("[name=realname]").fill("Ada")
    page.locator("textarea").fill("Cool page!")
    page.get_by_role("button", name="Send it!").click()
    expect(visitor.thanks).to_be_visible()
    values = {"realname": "Ada", "email": "", "browser": "Netscape", "comments": "Cool page!", "submit": "Send it!"}
    assert visitor.stored() == [values]


def test_webflow_and_table_pages__count_too(visitor: Visitor) -> None:
    for name in ("webflow.html", "table-1998.html"):
        open_page(visitor, name)
        visitor.page.locator("[name=email]").fill("ada@example.com")
        visitor.page.locator("[type=submit]").click()
        expect(visitor.thanks).to_be_visible()
    assert len(visitor.stored()) == 2


def test_strict_policy__of_the_page_and_the_services_origin__is_enough(plain_visitor: Visitor) -> None:
    policy = f"default-src 'self' {plain_visitor.service_url}"
    plain_visitor.form_id = plain_visitor.tenant.form(spam_protection={"proof_of_work": True})
    plain_visitor.forgives = ["400"]  # the first answer asks for the proof
    plain_visitor.open(CONTACT, headers={"Content-Security-Policy": policy})
    plain_visitor.send(name="Ada")
    expect(plain_visitor.thanks).to_be_visible()
    assert plain_visitor.stored() == [{"name": "Ada", "email": ""}]


def test_script__as_served__is_small_and_leaves_nothing_global(plain_visitor: Visitor) -> None:
    page = plain_visitor.open(CONTACT, tag="")
    before = page.evaluate("Object.keys(window)")
    page = plain_visitor.open(CONTACT)
    assert page.evaluate("Object.keys(window)") == before
    served = plain_visitor.api.get("/forms.js").body
    assert len(gzip.compress(served, 9)) <= MAX_GZIPPED


def test_pinned_tag__with_the_hash__works__and_a_changed_script_does_not_run(plain_visitor: Visitor) -> None:
    visitor = plain_visitor
    visitor.tenant.organization.refresh_from_db()
    form = Form.objects.get(organization=visitor.tenant.organization, is_default=False)
    visitor.open(tag=script_tag(form, visitor.tenant.publishable, pinned=True))
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    visitor.page.context.route("**/forms.*.js", lambda route: route.fulfill(body="document.title = 'hacked'"))
    visitor.forgives = ["integrity", "CORS", "Failed to load"]
    visitor.page.reload()
    assert visitor.page.title() == "A page"


@pytest.mark.parametrize("context_options", [{"java_script_enabled": False}], indirect=True)
@pytest.mark.parametrize(
    ("name", "action", "values"),
    [
        ("bootstrap.html", "contact.php", {"name": "Ada", "email": "a@b.example", "comments": "x"}),
        ("table-1998.html", "/cgi-bin/guestbook.pl", {"realname": "Ada", "email": "a@b.example", "comments": "x"}),
    ],
)
def test_real_pages__without_scripts__work_by_their_action(
    plain_visitor: Visitor, name: str, action: str, values: dict[str, str]
) -> None:
    visitor = plain_visitor
    html = (PAGES / name).read_text().replace("{{tag}}", visitor.tag())
    assert action in html
    visitor.page.goto(visitor.site.add(html.replace(action, f"{visitor.service_url}/f/{visitor.form_id}")))
    for field, value in values.items():
        visitor.page.locator(f"[name={field}]").fill(value)
    visitor.page.locator("[type=submit]").click()
    expect(visitor.page.get_by_role("heading", name="Thank you")).to_be_visible()
    [stored] = visitor.stored()
    assert stored.items() >= values.items()


@pytest.mark.parametrize("context_options", [{"java_script_enabled": False}], indirect=True)
def test_redirect_of_the_form__is_followed_without_scripts(plain_visitor: Visitor) -> None:
    visitor = plain_visitor
    form_id = visitor.tenant.form(redirect_url=f"{visitor.site.origin}/thanks")
    action = f'<form method="post" action="{visitor.service_url}/f/{form_id}"'
    visitor.open(CONTACT.replace("<form", action), tag="")
    visitor.send(name="Ada")
    expect(visitor.page.get_by_role("heading", name="Thanks from the site")).to_be_visible()
    assert visitor.stored(form_id) == [{"name": "Ada", "email": ""}]
