"""A submission as the visitor sees it: messages, errors at fields, buttons, events, the next page."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.chromium.visitor import CONTACT, Visitor, reply

FIELDS: list[dict[str, Any]] = [
    {"name": "name", "label": "Name", "type": "Text", "required": True},
    {"name": "email", "label": "Email", "type": "Email", "required": True},
    {"name": "token", "label": "Token", "type": "Hidden", "required": True},
]
EVENTS = """for (const name of ["submit", "success", "error", "queued"])
  document.addEventListener("fieldpost:" + name, (event) => {
    (window.events ||= []).push([name, event.target.id, event.cancelable]);
    if (window.cancels === name) event.preventDefault();
  });"""


def test_fields_in_error__say_so_and_the_first_has_the_focus__until_it_is_mended(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(fields=FIELDS)
    visitor.forgives = ["400"]
    page = visitor.open(
        '<form><input name="token" type="hidden"><label>Name <input name="name"></label>'
        '<input name="email"><button>Send</button></form>'
    )
    visitor.send(email="wrong")
    name, email = page.locator("[name=name]"), page.locator("[name=email]")
    expect(name).to_be_focused()
    for field, message in ((name, "Name is required."), (email, "Email must be an email address.")):
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(page.locator(f"#{field.get_attribute('aria-describedby')}")).to_have_text(message)
    expect(visitor.error).to_have_text("Token is required.")  # nowhere else to say it
    expect(visitor.error).to_have_attribute("role", "alert")
    page.locator("[name=token]").evaluate("input => { input.value = 't' }")
    visitor.send(name="Ada", email="wrong")
    expect(name).not_to_have_attribute("aria-invalid", "true")
    expect(visitor.error).to_have_text("Please check the marked fields, then send again.")
    visitor.send(email="ada@example.com")
    expect(visitor.thanks).to_be_visible()
    expect(visitor.error).to_have_count(0)
    expect(page.locator("[aria-invalid], [data-fieldpost-field-error]")).to_have_count(0)
    assert len(visitor.stored()) == 1


def test_field_in_error__of_a_form_higher_than_the_window__is_in_view_with_the_focus(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(fields=FIELDS)
    visitor.forgives = ["400"]
    page = visitor.open(
        "<style>html { scroll-behavior: smooth } p { height: 300px } form { background: #eee }</style><form>"
        '<input name="name" value="Ada"><input name="token" value="t"><p></p><p></p><input name="email" value="wrong">'
        "<p></p><p></p><p></p><p></p><p></p><button>Send</button></form>"
    )
    page.locator("button").click()
    email = page.locator("[name=email]")
    expect(email).to_be_focused()
    expect(page.locator("form > [data-fieldpost-error]")).to_be_attached()
    expect(email).to_be_in_viewport()
    expect(page.locator("[data-fieldpost-field-error]")).to_be_in_viewport()
    page.wait_for_load_state("networkidle")  # the rest of our script has come, and had its turn
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(email).to_be_in_viewport()


def test_pages_own_slots__are_used__and_its_thanks_stay(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(fields=FIELDS[:1])
    visitor.forgives = ["400"]
    page = visitor.open(
        f"{CONTACT}<p data-fieldpost-success hidden>We <em>love</em> it.</p>"
        '<p data-fieldpost-error hidden role="alert"></p>'
    )
    visitor.send(name="")
    expect(page.locator("body > [data-fieldpost-error]")).to_be_visible()
    visitor.send(name="Ada")
    expect(page.locator("body > [data-fieldpost-success]")).to_have_text("We love it.")
    expect(page.locator("[data-fieldpost-success] em")).to_be_visible()
    expect(page.locator("[data-fieldpost-success], [data-fieldpost-error]")).to_have_count(2)


def test_while_it_is_sent__the_form_is_busy__and_a_second_click_does_nothing(visitor: Visitor) -> None:
    waiting: list[Any] = []
    seen = visitor.answers(waiting.append)
    page = visitor.open()
    visitor.send(name="Ada")
    expect(page.locator("form")).to_have_attribute("aria-busy", "true")
    expect(page.locator("button")).to_be_disabled()
    page.locator("[name=name]").press("Enter")
    page.evaluate("document.forms[0].requestSubmit()")
    waiting[0].continue_()
    expect(visitor.thanks).to_be_visible()
    expect(page.locator("button")).to_be_enabled()
    expect(page.locator("form")).not_to_have_attribute("aria-busy", "true")
    assert (len(seen), len(visitor.stored())) == (1, 1)


def test_double_click__sends_once(visitor: Visitor) -> None:
    page = visitor.open()
    page.locator("[name=name]").fill("Ada")
    page.locator("button").dblclick()
    expect(visitor.thanks).to_be_visible()
    assert len(visitor.stored()) == 1


def test_two_fills__have_two_idempotency_keys__even_if_they_are_the_same(visitor: Visitor) -> None:
    seen = visitor.answers()
    visitor.open()
    for count in (1, 2):
        visitor.send(name="Ada")
        expect(visitor.page.locator("[name=name]")).to_have_value("")
        assert len(visitor.stored()) == count
    assert len(set(seen)) == 2


@pytest.mark.parametrize(
    ("form", "tag", "where"),
    [
        ('<form data-redirect="/thanks"><input name="a"><button>Go</button></form>', {}, "/thanks"),
        ('<form><input name="a"><button>Go</button></form>', {"data-redirect": "thanks"}, "/thanks"),
        (
            '<form><input name="_next" type="hidden" value="/thanks"><input name="a"><button>Go</button></form>',
            {},
            "/thanks",
        ),
        ('<form><input name="redirectTo" type="hidden" value="/thanks"><button>Go</button></form>', {}, "/thanks"),
    ],
)
def test_after_success__the_visitor_goes_where_the_page_says(
    visitor: Visitor, form: str, tag: dict[str, str], where: str
) -> None:
    page = visitor.open(form, tag=visitor.tag(**tag))
    page.locator("button").click()
    page.wait_for_url(f"{visitor.site.origin}{where}")
    assert len(visitor.stored()) == 1


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("_next", "javascript:document.title='x'"),
        ("_next", "data:text/html,x"),
        ("_next", "http://["),
        ("redirect", "thanks"),  # a word: it may be data
        ("redirectTo", "javascript:document.title='x'"),
    ],
)
def test_redirect__that_leads_nowhere_good__is_passed_over(visitor: Visitor, name: str, target: str) -> None:
    page = visitor.open(
        f'<form><input type="hidden" name="{name}" value="{target}"><button name="b" value="c">Go</button></form>'
    )
    address = page.url
    page.evaluate("navigation.addEventListener('navigate', event => { document.title = event.destination.url })")
    page.locator("button").click()
    expect(visitor.thanks).to_be_visible()
    page.evaluate("new Promise(done => setTimeout(done))")  # an address that is a script runs as a separate task
    assert (page.url, page.title()) == (address, "A page")


def test_back_after_a_redirect__the_form_can_be_sent_again(visitor: Visitor) -> None:
    page = visitor.open('<form data-redirect="/thanks"><input name="a"><button>Go</button></form>')
    for count in (1, 2):
        visitor.send(a=f"fill {count}")
        page.wait_for_url("**/thanks")
        assert len(visitor.stored()) == count
        page.go_back()
        expect(page.locator("button")).to_be_enabled()


def test_events__bubble_in_order(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(fields=FIELDS[:1])
    visitor.forgives = ["400"]
    page = visitor.open()
    page.evaluate(EVENTS)
    visitor.send(name="")
    expect(visitor.error).to_be_visible()
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    names = ["submit", "error", "submit", "success"]
    assert page.evaluate("window.events") == [[name, "contact", True] for name in names]


def test_submit_event__cancelled__nothing_is_sent(visitor: Visitor) -> None:
    seen = visitor.answers()
    page = visitor.open()
    page.evaluate(EVENTS + "window.cancels = 'submit'")
    visitor.send(name="Ada")
    page.wait_for_function("window.events?.length === 1")
    expect(page.locator("button")).to_be_enabled()
    assert (seen, visitor.stored()) == ([], [])


def test_success_and_error_events__cancelled__the_page_says_it_itself(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(fields=FIELDS[:1])
    visitor.forgives = ["400"]
    page = visitor.open()
    page.evaluate(EVENTS + "window.cancels = 'error'")
    visitor.send(name="")
    page.wait_for_function("window.events?.length === 2")
    expect(visitor.error).to_have_count(0)
    page.evaluate("window.cancels = 'success'")
    visitor.send(name="Ada")
    page.wait_for_function("window.events?.length === 4")
    expect(visitor.thanks).to_have_count(0)
    expect(page.locator("[name=name]")).to_have_value("Ada")


def test_answer_that_is_no_json__is_told_as_a_failure(visitor: Visitor) -> None:
    visitor.answers(reply(500, "<h1>Oops</h1>"))
    visitor.forgives = ["500"]
    visitor.open()
    visitor.send(name="Ada")
    expect(visitor.error).to_have_text("This could not be sent. Please try again.")
    visitor.send()
    expect(visitor.thanks).to_be_visible()
    assert len(visitor.stored()) == 1


def test_wrong_key__is_told(visitor: Visitor) -> None:
    visitor.forgives = ["401"]
    visitor.open(tag=visitor.tag(**{"data-key": "fp_pub_wrong"}))
    visitor.send(name="Ada")
    expect(visitor.error).to_have_text("Invalid or missing access key")


def test_group_in_error__is_marked_at_its_first_choice(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(fields=[{"name": "size", "label": "Size", "type": "Text", "required": True}])
    visitor.forgives = ["400"]
    page = visitor.open(
        '<form><input type="hidden" name="a" value="1"><label><input type="radio" name="size" value="S"> S</label>'
        '<label><input type="radio" name="size" value="M"> M</label><button>Go</button></form>'
    )
    page.locator("button").click()
    expect(page.get_by_label("S", exact=True)).to_be_focused()
    expect(page.locator("label + [data-fieldpost-field-error]")).to_have_text("Size is required.")
    page.get_by_label("M").check()
    page.locator("button").click()
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"a": "1", "size": "M"}]


def test_click_while_the_next_page_is_on_its_way__sends_nothing_more(visitor: Visitor) -> None:
    seen = visitor.answers()
    # An address that answers 204: the browser stays, as it does while a slow page is fetched.
    page = visitor.open('<form data-redirect="/slow"><input name="a"><button>Go</button></form>')
    visitor.send(a="1")
    expect(visitor.thanks).to_be_visible()
    expect(page.locator("button")).to_be_disabled()
    page.evaluate("document.forms[0].requestSubmit()")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    expect(page.locator("button")).to_be_enabled()
    assert (len(seen), visitor.stored()) == (1, [{"a": "1"}])
