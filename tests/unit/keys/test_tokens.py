"""The text of access keys: its shape, its checksum, its digest (docs/contract.md 3)."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django import Settings

from keys.tokens import ALPHABET, checksum, digest, hint, is_well_formed, make_token

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
no_deadline = hypothesis_settings(deadline=None)  # a busy machine is not a slow function
bodies = st.text(BASE62, min_size=40, max_size=40)
prefixes = st.sampled_from(["fp_", "fp_pub_"])


def token_of(prefix: str, body: str) -> str:
    return f"{prefix}{body}{checksum(body)}"


def typos(token: str) -> list[str]:
    """Return the token with one character replaced, left out, doubled, or swapped with its neighbour."""
    places = range(len(token))
    replaced = [token[:at] + one + token[at + 1 :] for at in places for one in BASE62 + "_-" if one != token[at]]
    left_out = [token[:at] + token[at + 1 :] for at in places]
    doubled = [token[:at] + token[at] + token[at:] for at in places]
    swapped = [token[:at] + b + a + token[at + 2 :] for at, (a, b) in enumerate(pairwise(token)) if a != b]
    return replaced + left_out + doubled + swapped


def test_checksum__npm_vector__is_npms() -> None:
    assert checksum("qkJaB6MffYVzZXWqmcoF49yrUxP3wf") == "0LsakP"


def test_checksum__of_nothing__is_zeros_of_the_full_length() -> None:
    assert (checksum(""), ALPHABET) == ("000000", BASE62)


@pytest.mark.parametrize(("publishable", "shape"), [(False, r"fp_[0-9A-Za-z]{46}"), (True, r"fp_pub_[0-9A-Za-z]{46}")])
def test_make_token__of_a_kind__has_its_shape_and_is_new_each_time(publishable: bool, shape: str) -> None:
    tokens = [make_token(publishable=publishable) for _ in range(200)]
    assert len(set(tokens)) == 200
    for token in tokens:
        assert re.fullmatch(shape, token)
        assert token[-6:] == checksum(token[-46:-6])
        assert is_well_formed(token)


def test_make_token__many__use_the_whole_alphabet_at_every_place() -> None:
    """Each place misses one of 62 characters in 4,000 draws once in 10^26 runs."""
    seen = [set(place) for place in zip(*(make_token()[3:43] for _ in range(4000)), strict=True)]
    assert seen == [set(BASE62)] * 40


def test_make_token__another_prefix__is_the_one_that_counts(settings: Settings) -> None:
    ours = make_token()
    settings.ACCESS_KEY_PREFIX = "acme"
    theirs = make_token()
    assert theirs.startswith("acme_")
    assert (is_well_formed(theirs), is_well_formed(ours)) == (True, False)


@no_deadline
@given(prefixes, bodies)
def test_is_well_formed__right_checksum__is_true_and_only_for_it(prefix: str, body: str) -> None:
    token = token_of(prefix, body)
    assert is_well_formed(token)
    assert not any(is_well_formed(wrong) for wrong in (token.swapcase(), token + "0", "0" + token, token[:-1]))


@pytest.mark.parametrize("prefix", ["fp_", "fp_pub_"])
def test_is_well_formed__any_single_typo__is_false(prefix: str) -> None:
    token = token_of(prefix, "3kTMd9wGq7Lr2ZxVb5NfYc8HsPj6RnQa4WeUoXi0")
    wrong = typos(token)
    assert len(wrong) > 3000
    assert [one for one in wrong if is_well_formed(one)] == []


@no_deadline
@given(prefixes, bodies, st.data())
def test_is_well_formed__one_character_of_any_token_replaced__is_false(
    prefix: str, body: str, data: st.DataObject
) -> None:
    token = token_of(prefix, body)
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters(exclude_characters=token[at]))
    assert not is_well_formed(token[:at] + other + token[at + 1 :])


@no_deadline
@given(st.text())
def test_is_well_formed__any_text__never_raises(text: str) -> None:
    for token in (text, f"fp_{text}", f"fp_pub_{text}"):
        assert not is_well_formed(token)


@pytest.mark.parametrize("dressed", [" {}", "{} ", "{}\n", "\t{}", "{}\0", "{},{}", "Bearer {}"])
def test_is_well_formed__something_around_the_key__is_false(dressed: str) -> None:
    token = make_token()
    assert not is_well_formed(dressed.format(token, token))


def test_digest__known_vectors__is_plain_sha256() -> None:
    """FIPS 180-4's own example, and a key."""
    assert digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    token = "fp_" + "0" * 40 + "2kaqcA"
    assert digest(token) == "4393cea69c225c6c57b795e97bab18ebe603233e7bb3297975886c5fa5cb11f8"


def test_digest__secret_key_rotated__stays_as_it_is(settings: Settings) -> None:
    token = make_token()
    before = digest(token)
    settings.SECRET_KEY = "another-secret-key-of-this-installation"
    settings.SECRET_KEY_FALLBACKS = []
    assert digest(token) == before


@pytest.mark.parametrize(("publishable", "prefix"), [(False, "fp_"), (True, "fp_pub_")])
def test_hint__of_a_key__tells_its_prefix_and_last_four_characters(publishable: bool, prefix: str) -> None:
    token = make_token(publishable=publishable)
    assert hint(token) == f"{prefix}…{token[-4:]}"
