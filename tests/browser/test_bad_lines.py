"""Slow, dead and returning lines: each submission arrives, once (docs/contract.md 6.5)."""

import time
from typing import Any

from playwright.sync_api import expect

from tests.support.chromium.visitor import Visitor, lose, no_connection, reply

ASKED_PAUSE = 2  # seconds; longer than forms.js waits by itself before its second try
LINE_IS_DOWN = ["net::ERR", "Failed to load resource", "CORS"]
EMPTY = "Object.values(localStorage)[0] === '[]'"  # nothing is kept any more
AGE = """for (const [name, text] of Object.entries(localStorage)) {
  const kept = JSON.parse(text).map((one) => ({ ...one, at: one.at - 8 * 24 * 60 * 60 * 1000 }));
  localStorage.setItem(name, JSON.stringify(kept));
}"""


def test_429__is_tried_again_after_what_it_asks_for(visitor: Visitor) -> None:
    seen = visitor.answers(reply(429, Retry_After=str(ASKED_PAUSE)))
    visitor.forgives = ["429"]
    visitor.open()
    start = time.monotonic()
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    assert time.monotonic() - start >= ASKED_PAUSE
    assert (len(seen), len(set(seen))) == (2, 1), "the same submission has the same key"
    assert len(visitor.stored()) == 1


def test_429_for_an_hour__is_kept_and_told(visitor: Visitor) -> None:
    seen = visitor.answers(reply(429, Retry_After="3000"))
    visitor.forgives = ["429"]
    page = visitor.open()
    visitor.send(name="Ada")
    expect(visitor.queued).to_have_attribute("role", "status")
    assert len(seen) == 1
    page.reload()
    page.wait_for_function(EMPTY)
    assert visitor.stored() == [{"name": "Ada", "email": ""}]
    assert len(set(seen)) == 1


def test_503__is_tried_again(visitor: Visitor) -> None:
    seen = visitor.answers(reply(503), reply(502))
    visitor.forgives = ["503", "502"]
    visitor.open()
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    assert len(seen) == 3
    assert len(set(seen)) == 1


def test_dead_server__is_kept__and_sent_by_the_next_page(visitor: Visitor) -> None:
    visitor.answers(no_connection, no_connection, no_connection)
    visitor.forgives = LINE_IS_DOWN
    page = visitor.open()
    visitor.send(name="Ada")
    expect(visitor.queued).to_be_visible()
    expect(page.locator("[name=name]")).to_have_value("Ada")
    visitor.open("<p>Another page</p>")
    page.wait_for_function(EMPTY)
    assert visitor.stored() == [{"name": "Ada", "email": ""}]


def test_offline__then_online__is_sent_and_the_form_that_waited_says_so(visitor: Visitor) -> None:
    visitor.forgives = LINE_IS_DOWN
    page = visitor.open()
    page.context.set_offline(True)
    visitor.send(name="Ada")
    expect(visitor.queued).to_be_visible()
    page.context.set_offline(False)
    expect(visitor.thanks).to_be_visible()
    expect(visitor.queued).to_have_count(0)
    assert visitor.stored() == [{"name": "Ada", "email": ""}]


def test_offline__then_a_reload__then_online__arrives_once(visitor: Visitor) -> None:
    visitor.forgives = LINE_IS_DOWN
    page = visitor.open()
    visitor.answers(no_connection, no_connection, no_connection, no_connection, no_connection, no_connection)
    visitor.send(name="Ada")
    expect(visitor.queued).to_be_visible()
    page.reload()
    page.context.unroute(f"{visitor.service_url}/api/submit*")
    page.evaluate("dispatchEvent(new Event('online'))")
    page.wait_for_function(EMPTY)
    page.evaluate("dispatchEvent(new Event('online'))")
    page.reload()
    assert len(visitor.stored()) == 1


def test_answer_that_got_lost__pressing_again_is_the_same_submission(visitor: Visitor) -> None:
    seen = visitor.answers(lose)
    visitor.forgives = LINE_IS_DOWN
    visitor.open()
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    assert len(seen) == 2
    assert len(set(seen)) == 1
    assert len(visitor.stored()) == 1


def test_pressing_again_while_it_is_kept__is_the_same_submission(visitor: Visitor) -> None:
    seen = visitor.answers(no_connection, no_connection, no_connection)
    visitor.forgives = LINE_IS_DOWN
    visitor.open()
    visitor.send(name="Ada")
    expect(visitor.queued).to_be_visible()
    visitor.send()
    expect(visitor.thanks).to_be_visible()
    assert len(seen) == 4
    assert len(set(seen)) == 1
    assert len(visitor.stored()) == 1


def test_queued_event__cancelled__says_nothing(visitor: Visitor) -> None:
    visitor.answers(reply(429, Retry_After="3000"))
    visitor.forgives = ["429"]
    page = visitor.open()
    page.evaluate("addEventListener('fieldpost:queued', event => { event.preventDefault(); window.told = true })")
    visitor.send(name="Ada")
    page.wait_for_function("window.told")
    expect(visitor.queued).to_have_count(0)


def test_storage_forbidden__a_failure_is_told_and_the_form_keeps_what_was_typed(visitor: Visitor) -> None:
    visitor.answers(no_connection, no_connection, no_connection)
    visitor.forgives = LINE_IS_DOWN
    visitor.page.add_init_script("Storage.prototype.setItem = () => { throw new DOMException('full') }")
    page = visitor.open()
    visitor.send(name="Ada")
    expect(visitor.error).to_have_text("This could not be sent. Please try again.")
    expect(page.locator("[name=name]")).to_have_value("Ada")
    visitor.send()
    expect(visitor.thanks).to_be_visible()


def test_kept_for_more_than_a_week__is_not_sent_any_more(visitor: Visitor) -> None:
    visitor.answers(no_connection, no_connection, no_connection)
    visitor.forgives = LINE_IS_DOWN
    page = visitor.open()
    visitor.send(name="Ada")
    expect(visitor.queued).to_be_visible()
    page.evaluate(AGE)
    page.reload()
    page.wait_for_function(EMPTY)
    assert visitor.stored() == []


def test_kept__and_refused_for_good_by_then__is_dropped__but_not_while_it_could_be_mended(visitor: Visitor) -> None:
    visitor.answers(reply(429, Retry_After="3000"), reply(403), reply(400))
    visitor.forgives = ["429", "403", "400"]
    page = visitor.open()
    visitor.send(name="Ada")
    expect(visitor.queued).to_be_visible()
    with page.expect_response(lambda response: response.status == 403):
        page.reload()
    assert page.evaluate("JSON.parse(Object.values(localStorage)[0]).length") == 1
    page.reload()
    page.wait_for_function(EMPTY)
    assert visitor.stored() == []


def test_spoilt_storage__is_begun_anew(visitor: Visitor) -> None:
    visitor.answers(reply(429, Retry_After="3000"))
    visitor.forgives = ["429"]
    page = visitor.open()
    page.evaluate("for (const name of Object.keys(localStorage)) localStorage.setItem(name, '{spoilt')")
    visitor.send(name="Ada")
    expect(visitor.queued).to_be_visible()
    page.reload()
    page.wait_for_function(EMPTY)
    assert visitor.stored() == [{"name": "Ada", "email": ""}]


def test_kept__and_still_put_off_by_the_next_page__stays_for_the_one_after(visitor: Visitor) -> None:
    seen = visitor.answers(*[reply(429, Retry_After="3000")] * 2)
    visitor.forgives = ["429"]
    page = visitor.open()
    visitor.send(name="Ada")
    expect(visitor.queued).to_be_visible()
    with page.expect_response(lambda response: response.status == 429):
        page.reload()
    page.reload()
    page.wait_for_function(EMPTY)
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert visitor.stored() == [{"name": "Ada", "email": ""}]


def test_pressing_again_while_the_store_sends_it__sends_nothing_more(visitor: Visitor) -> None:
    waiting: list[Any] = []
    seen = visitor.answers(reply(429, Retry_After="3000"), waiting.append)
    visitor.forgives = ["429"]
    page = visitor.open()
    visitor.send(name="Ada")
    expect(visitor.queued).to_be_visible()
    with page.expect_request("**/api/submit*"):
        page.evaluate("dispatchEvent(new Event('online'))")
    visitor.send()
    expect(page.locator("form")).not_to_have_attribute("aria-busy", "true")
    waiting[0].continue_()
    expect(visitor.thanks).to_be_visible()
    assert len(seen) == 2
    assert len(set(seen)) == 1
    assert len(visitor.stored()) == 1
