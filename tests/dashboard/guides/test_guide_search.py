"""The search in the guides: its order, its limits, and queries that mean harm."""

import re
from urllib.parse import quote

import pytest

from tests.services.client import Answer, Client
from tests.support.browser import markup_of

pytestmark = pytest.mark.on_sqlite


def search(api: Client, query: str) -> Answer:
    answer = api.get(f"/docs/search?q={quote(query)}")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    return answer


def addresses(answer: Answer) -> list[str]:
    hits = answer.text.partition('<ol class="guides-hits">')[2].partition("</ol>")[0]
    return re.findall(r'href="(/docs/[^"]+)"', hits)


def test_search__word_of_a_heading__comes_first_with_its_anchor(api: Client) -> None:
    assert addresses(search(api, "restore"))[0] == "/docs/running#restore"
    assert addresses(search(api, "ReStOrE")) == addresses(search(api, "restore"))
    assert "/docs/contract#5.17" in addresses(search(api, "idempotency"))


def test_search__several_words__are_all_in_a_section(api: Client) -> None:
    both = set(addresses(search(api, "nginx proxy")))
    assert both
    assert both <= set(addresses(search(api, "nginx")))
    assert addresses(search(api, "nginx proxy xylophone")) == []
    assert "No section has all of these words." in search(api, "xylophone").text


def test_search__without_a_word__says_how(api: Client) -> None:
    for path in ("/docs/search", "/docs/search?q=", "/docs/search?q=%20%09"):
        assert "Type one or more words." in api.get(path).text


@pytest.mark.parametrize(
    "query",
    [
        '"><script>alert(1)</script>',
        "' OR 1=1 --",
        "(a+)+$ [",
        "\\",
        "{{ settings.SECRET_KEY }} {% debug %}",
        "\x00\x1b",
        "\ud7ff\u202e",
        "a" * 5000,
        "a " * 2000,
    ],
)
def test_search__hostile_query__is_text(api: Client, query: str) -> None:
    answer = search(api, query)
    assert "<script>alert" not in answer.text
    assert answer.text.count("<script") == 1
    assert len(answer.body) < 60_000


def test_search__bytes_that_are_no_text__are_answered(api: Client) -> None:
    assert api.get("/docs/search?q=%ff%fe&q=%27&x[]=1").status == 200


def test_search__marks_its_words__and_keeps_markup_as_text(api: Client) -> None:
    answer = search(api, "<form")
    assert "<mark>&lt;form</mark>" in markup_of(answer)


def test_search__more_than_an_address_may_ask__is_429_and_keeps_the_words(api: Client) -> None:
    answers = [api.get(f"/docs/search?q=nginx+word{number}") for number in range(70)]  # the minute may turn once
    refused = [answer for answer in answers if answer.status == 429]
    assert 10 <= len(refused) <= 40
    assert {answer.status for answer in answers} == {200, 429}
    assert 1 <= int(refused[0].headers["Retry-After"]) <= 61
    assert "Try again in" in refused[0].text
    assert 'value="nginx word' in refused[0].text
    assert api.get("/docs/running").status == 200
