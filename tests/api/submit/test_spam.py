"""Spam is answered like success, stored with its reasons, and not delivered (docs/contract.md 5.12)."""

import re
import time
from typing import Any

import pytest

from submissions.hosted import stamps
from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.support.hosted_posts import GOOD, post
from tests.support.replies import Like
from tests.support.submitting import accepted, records
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant, text_field
from tests.support.webhooks import register

RULES: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({}, {"_gotcha": "x"}, ["honeypot: _gotcha was filled in"]),
    (
        {"blocked_words": ["c++"], "max_links": 0},
        {"m": "c++ http://a", "_gotcha": "1"},
        ["honeypot: _gotcha was filled in", "links: 1, and this form takes 0", 'word: "c++" in m'],
    ),
    ({}, {"_honey": "x"}, ["honeypot: _honey was filled in"]),
    ({}, {"botcheck": True}, ["honeypot: botcheck was filled in"]),
    ({}, {"bot-field": "x"}, ["honeypot: bot-field was filled in"]),
    ({"max_links": 1}, {"m": "http://a.example www.b.example"}, ["links: 2, and this form takes 1"]),
    ({"max_links": 0}, {"m": "See HTTPS://a.example"}, ["links: 1, and this form takes 0"]),
    ({"blocked_words": ["casino", "crypto coin"]}, {"m": "Best CASINO!"}, ['word: "casino" in m']),
    ({"blocked_words": ["crypto coin"]}, {"a": "x", "m": "a Crypto Coin."}, ['word: "crypto coin" in m']),
]
HARMLESS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"_gotcha": "", "_honey": "", "botcheck": False, "bot-field": " "}),
    ({}, {"m": "http://a http://b http://c casino"}),
    ({"max_links": 2}, {"m": "http://a", "n": "www.b.example"}),
    ({"blocked_words": ["cas"]}, {"m": "the casino case"}),
]


@pytest.mark.parametrize(
    ("protection", "values", "reasons"), first_on_both(RULES, 2), ids=[str(rule[2]) for rule in RULES]
)
def test_spam__is_answered_like_success_and_kept_with_its_reasons(
    api: Client, protection: dict[str, Any], values: dict[str, Any], reasons: list[str]
) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection=protection)

    answer = api.post(f"/api/submit?formId={form_id}", tenant.publishable, json={"name": "Ada", **values})

    assert (answer.status, answer.json()) == (201, accepted(form_id))
    [record] = records(api, tenant, form_id)
    assert (record["spam"], record["spamReasons"]) == (True, reasons)
    assert set(record["data"]) == {"name", *values} - {"_gotcha"}, "the other honeypots are data as well"


@pytest.mark.parametrize(("protection", "values"), first_on_both(HARMLESS), ids=str)
def test_what_only_looks_like_spam__is_not(api: Client, protection: dict[str, Any], values: dict[str, Any]) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection=protection)

    api.post(f"/api/submit?formId={form_id}", tenant.key, json={"name": "Ada", **values})

    assert [record["spamReasons"] for record in records(api, tenant, form_id)] == [[]]


def test_honeypots_name__that_the_form_declares__is_a_field_like_any(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[text_field("botcheck")])

    api.post(f"/api/submit?formId={form_id}", tenant.key, json={"botcheck": "I counted the bots"})

    assert [record["spam"] for record in records(api, tenant, form_id)] == [False]


@pytest.mark.parametrize(
    ("protection", "seconds", "is_asked"),
    [({}, 0.5, True), ({}, 30, False), ({"minimum_seconds": 60}, 30, True), ({"minimum_seconds": 0}, 0, False)],
)
def test_page_sent_too_fast__is_asked_for_once_and_then_stored(
    api: Client, protection: dict[str, Any], seconds: float, is_asked: bool
) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection=protection)
    stamp = stamps.make(form_id, opened_at=time.time() - seconds)

    answer = post(api, form_id, GOOD, query=f"?stamp={stamp}")

    if is_asked:
        assert (answer.status, records(api, tenant, form_id)) == (400, [])
        assert "That was quick. Check your answers, then send them again." in answer.text
        again = re.search(r'action="(\?stamp=[^"]+)"', answer.text)
        assert again
        answer = post(api, form_id, GOOD, query=again[1])
    assert answer.status == 303
    assert [record["spamReasons"] for record in records(api, tenant, form_id)] == [[]]


def test_page_sent_too_fast__with_another_reason__is_spam(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection={"max_links": 0})
    stamp = stamps.make(form_id, opened_at=time.time() - 0.5)

    assert post(api, form_id, {"a": "https://casino.example"}, query=f"?stamp={stamp}").status == 303

    [record] = records(api, tenant, form_id)
    fast = Like(r"too fast: sent \d\.\d s after the page was opened")
    assert record["spamReasons"] == ["links: 1, and this form takes 0", fast]


def test_stamp_of_another_form_or_tampered_with__says_nothing(api: Client) -> None:
    tenant = make_tenant()
    form_id, other = tenant.form(), tenant.form()
    stamp = stamps.make(other)

    for query in (f"?stamp={stamp}", f"?stamp={stamps.make(form_id)[:-2]}", "?stamp=", "?stamp=%00"):
        assert post(api, form_id, GOOD, query=query).status == 303

    assert [record["spam"] for record in records(api, tenant, form_id)] == [False] * 4


def test_spam__is_delivered_nowhere__until_it_is_marked_as_good(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection={"blocked_words": ["casino"]})
    register(api, tenant, receiver.url(), form_id)

    for message in ("casino", "hello"):
        api.post(f"/api/submit?formId={form_id}", tenant.key, json={"message": message})

    assert b"hello" in receiver.wait_for(1)[0].body
    spam = next(record for record in records(api, tenant, form_id) if record["spam"])
    api.patch(f"/api/submissions/{spam['id']}", tenant.key, json={"spam": False})
    assert b"casino" in receiver.wait_for(2)[1].body
