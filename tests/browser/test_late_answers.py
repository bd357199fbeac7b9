"""Answers that come late, or get lost, while the visitor goes on; and other scripts of the page."""

from typing import Any

from playwright.sync_api import expect

from tests.services.waiting import eventually
from tests.support.chromium.visitor import CONTACT, Visitor, lose, reply

AN_HOUR = "3000"  # seconds; longer than forms.js waits with the page
EMAIL = [{"name": "email", "label": "Email", "type": "Email", "required": True}]


def test_earlier_fill_arrives__while_the_next_is_typed__which_stays(visitor: Visitor) -> None:
    visitor.answers(reply(429, Retry_After=AN_HOUR))
    visitor.forgives = ["429"]
    page = visitor.open()
    visitor.send(name="Ada")
    expect(visitor.queued).to_be_visible()
    page.locator("[name=name]").fill("Bob")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(visitor.thanks).to_be_visible()
    expect(page.locator("[name=name]")).to_have_value("Bob")
    page.locator("button").click()
    expect(page.locator("[name=name]")).to_have_value("")
    assert [one["name"] for one in visitor.stored()] == ["Ada", "Bob"]


def test_next_of_a_submission_that_waited__is_gone_to(visitor: Visitor) -> None:
    visitor.answers(reply(429, Retry_After=AN_HOUR))
    visitor.forgives = ["429"]
    page = visitor.open(
        '<form><input name="_next" type="hidden" value="/thanks"><input name="a"><button>Go</button></form>'
    )
    visitor.send(a="1")
    expect(visitor.queued).to_be_visible()
    page.evaluate("dispatchEvent(new Event('online'))")
    page.wait_for_url("**/thanks")


def test_answers_lost_after_a_proof__pressing_again_is_the_same_request(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(spam_protection={"proof_of_work": True})
    visitor.forgives = ["400", "net::ERR", "Failed to load resource"]
    visitor.answers(lambda route: route.continue_(), lose, lose, lose)
    page = visitor.open()
    visitor.send(name="Ada")
    expect(visitor.queued).to_be_visible()
    page.locator("button").click()
    expect(visitor.thanks).to_be_visible()
    assert len(visitor.stored()) == 1


def test_hint_of_the_page_at_a_field__is_still_read_with_the_error_and_after_it(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(fields=EMAIL)
    visitor.forgives = ["400"]
    page = visitor.open(
        '<form><input name="email" aria-describedby="help"><p id="help">Never shared.</p><button>Go</button></form>'
    )
    visitor.send(email="wrong")
    expect(visitor.error).to_be_visible()
    note = page.locator("[data-fieldpost-field-error]").get_attribute("id")
    expect(page.locator("[name=email]")).to_have_attribute("aria-describedby", f"help {note}")
    visitor.send(email="ada@example.com")
    expect(visitor.thanks).to_be_visible()
    expect(page.locator("[name=email]")).to_have_attribute("aria-describedby", "help")


def test_event_called_submit__of_what_is_no_form__is_none_of_ours(visitor: Visitor) -> None:
    page = visitor.open("<main></main>")
    page.evaluate(
        """for (const target of [document.querySelector("main"), document])
        target.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }))"""
    )
    assert visitor.unforgiven() == []


def test_changed_and_sent_again__while_it_is_being_sent__is_not_taken(visitor: Visitor) -> None:
    waiting: list[Any] = []
    seen = visitor.answers(waiting.append)
    page = visitor.open()
    visitor.send(name="Ada")
    expect(page.locator("form")).to_have_attribute("aria-busy", "true")
    page.locator("[name=name]").fill("Bob")
    page.evaluate("document.forms[0].requestSubmit()")
    waiting[0].continue_()
    expect(visitor.thanks).to_be_visible()
    assert (len(seen), [one["name"] for one in visitor.stored()]) == (1, ["Ada"])


def test_page_left_at_once__has_sent_it_all_the_same(plain_visitor: Visitor) -> None:
    visitor = plain_visitor
    page = visitor.open(
        f'{CONTACT}<script>addEventListener("submit", () => setTimeout(() => location = "/thanks"))</script>'
    )
    visitor.forgives = ["net::ERR", "Failed to load resource"]
    visitor.send(name="Ada")
    page.wait_for_url("**/thanks")
    eventually(lambda: visitor.stored() == [{"name": "Ada", "email": ""}])


def test_frame_without_an_origin__is_refused_where_a_form_lists_origins(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(allowed_origins=["https://shop.example"])
    visitor.forgives = ["403"]
    inner = visitor.site.add(f"<body>{CONTACT}{visitor.tag()}</body>")
    page = visitor.open(f'<iframe sandbox="allow-scripts allow-forms" src="{inner}"></iframe>', tag="")
    frame = page.frame_locator("iframe")
    frame.locator("[name=name]").fill("Ada")
    frame.locator("button").click()
    expect(frame.locator("[data-fieldpost-error]")).to_be_visible()
    assert visitor.stored() == []
