"""Blocked words, compared with a regular expression for each of them."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from submissions.receiving.blocked_words import find_blocked_words

TEXTS = st.text("ab_ .$ßSs\n", max_size=12)
WORDS = st.lists(st.text("ab_ .$ßs", min_size=1, max_size=5), max_size=6, unique_by=str.casefold).map(tuple)


def one_by_one(values: Mapping[str, str], words: tuple[str, ...]) -> list[tuple[str, str]]:
    found = []
    for word in words:
        pattern = re.compile(rf"(?<!\w){re.escape(word.casefold())}(?!\w)")
        found += [(word, name) for name, value in values.items() if pattern.search(value.casefold())][:1]
    return found


@given(st.dictionaries(st.sampled_from(["x", "y", "z"]), TEXTS), WORDS)
@example({"x": "a$$$", "y": "$$$"}, ("$$$",))
@example({"x": "a a b"}, ("a b", "a a a"))
@example({"x": "STRASSE"}, ("straße",))
def test_blocked_words__any_text__match_as_patterns_do(values: dict[str, str], words: tuple[str, ...]) -> None:
    assert find_blocked_words(values, words) == one_by_one(values, words)


@pytest.mark.parametrize("words", [("now", "buy now", "to buy now"), ("to buy now", "buy now", "now")])
def test_blocked_words__one_at_the_end_of_another__are_all_found(words: tuple[str, ...]) -> None:
    found = find_blocked_words({"a": "Now!", "b": "time to buy now, buy now"}, words)

    assert dict(found) == {"now": "a", "buy now": "b", "to buy now": "b"}
    assert [word for word, _ in found] == list(words)


def test_blocked_words__the_same_in_another_case__count_once() -> None:
    assert find_blocked_words({"a": "CASINO"}, ("Casino", "casino")) == [("Casino", "a")]
