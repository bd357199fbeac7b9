"""Forms that ask for proof of work: by forms.js, which loads the solver only then, and on the hosted page."""

from typing import Any

import pytest
from playwright.sync_api import Error, expect

from tests.support.chromium.visitor import Visitor, lose, no_connection, reply

PROTECTED: dict[str, Any] = {"spam_protection": {"proof_of_work": True, "minimum_seconds": 0}}


def challenge_of(visitor: Visitor, form_id: str) -> str:
    return f"{visitor.service_url}/f/challenge?formId={form_id}"


def test_form_that_asks__gets_its_proof__and_only_then_the_solver(visitor: Visitor) -> None:
    loaded: list[str] = []
    visitor.page.on("request", lambda request: loaded.append(request.url))
    visitor.open()
    visitor.send(name="first")
    expect(visitor.thanks).to_be_visible()
    assert not any("proof" in url for url in loaded)
    visitor.form_id = visitor.tenant.form(**PROTECTED)
    visitor.forgives = ["400"]
    visitor.open()
    visitor.send(name="second")
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "second", "email": ""}]
    assert sum("forms.proof." in url for url in loaded) == 1
    assert [url for url in loaded if "challenge" in url] == [challenge_of(visitor, visitor.form_id)]


def test_solver_that_cannot_be_loaded__the_submission_is_kept__and_sent_with_a_proof_later(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(**PROTECTED)
    visitor.forgives = ["400", "net::ERR"]
    page = visitor.open()
    page.context.route("**/forms.proof.*", no_connection)
    visitor.send(name="Ada")
    expect(visitor.queued).to_be_visible()
    page.context.unroute("**/forms.proof.*")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "email": ""}]


def test_answer_lost_after_the_proof__the_retry_is_the_same_request(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(**PROTECTED)
    visitor.forgives = ["400", "net::ERR", "Failed to load"]
    seen = visitor.answers(lambda route: route.continue_(), lose)
    visitor.open()
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert len(visitor.stored()) == 1


def test_hosted_page_that_asks__computes_it_when_it_is_sent(plain_visitor: Visitor) -> None:
    form_id = plain_visitor.tenant.form(**PROTECTED)
    page = plain_visitor.page
    page.goto(f"{plain_visitor.service_url}/f/{form_id}")
    page.get_by_label("Message").fill("Hello")
    with page.expect_request("**/f/challenge*") as asked:
        page.get_by_role("button", name="Send").click()
    assert asked.value.url == challenge_of(plain_visitor, form_id)
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert plain_visitor.stored(form_id) == [{"email": "", "message": "Hello"}]
    page.go_back()
    page.get_by_label("Message").fill("Hello again")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert len(plain_visitor.stored(form_id)) == 2


def test_hosted_page__requires_trusted_types(plain_visitor: Visitor) -> None:
    form_id = plain_visitor.tenant.form(**PROTECTED)
    plain_visitor.forgives = ["Trusted"]
    page = plain_visitor.page
    page.goto(f"{plain_visitor.service_url}/f/{form_id}")
    for sink in ("document.body.innerHTML = '<b>x</b>'", "document.createElement('script').src = '/x.js'"):
        with pytest.raises(Error, match="Trusted"):
            page.evaluate(sink)
    with pytest.raises(Error, match="disallowed"):
        page.evaluate("trustedTypes.createPolicy('mine', {})")


def test_hosted_page__without_a_solver__keeps_what_was_typed(plain_visitor: Visitor) -> None:
    form_id = plain_visitor.tenant.form(**PROTECTED)
    plain_visitor.forgives = ["net::ERR", "400"]
    page = plain_visitor.page
    page.context.route("**/forms.proof.*", no_connection)
    page.goto(f"{plain_visitor.service_url}/f/{form_id}")
    page.get_by_label("Message").fill("Hello")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("could not show that you are not a robot")
    expect(page.get_by_label("Message")).to_have_value("Hello")


def test_429_on_the_challenge_way__is_waited_out(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(**PROTECTED)
    visitor.forgives = ["400", "429"]
    visitor.answers(lambda route: route.continue_(), reply(429, Retry_After="1"))
    visitor.open()
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
