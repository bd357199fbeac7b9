"""The numbers by which the search index finds a row, on PostgreSQL: never fewer than a comparison of texts finds."""

import os
import uuid

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from config.base.ids import new_id
from submissions.reading.search import index_numbers
from submissions.search_text import fold
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL  # SQLite has no such index

pytestmark = pytest.mark.django_db

ORGANIZATION = new_id()
# Letters with and without case, letters of several bytes, marks that join others, digits, separators.
CHARACTERS = "abxzAXZ09 ._-'\n\x1f\u0301éüßİıΣςσﬃжЖابाि中文ー한🙂"  # noqa: RUF001 - letters that look alike
texts = st.text(CHARACTERS, max_size=12)


def numbers_of_row(content: str, organization: uuid.UUID = ORGANIZATION) -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT submission_grams(%s, %s)", [organization, fold(content)])
        (numbers,) = cursor.fetchone()
    return set(numbers)


@given(before=texts, text=texts, after=texts)
def test_index_numbers__of_a_part_of_a_text__are_all_among_those_of_the_text(
    before: str, text: str, after: str
) -> None:
    wanted = set(index_numbers([text], ORGANIZATION, "default"))
    assert wanted <= numbers_of_row(before + text + after)


def test_index_numbers__of_a_word__are_its_trigrams_and_the_organization() -> None:
    assert len(index_numbers(["backorder"], ORGANIZATION, "default")) == 1 + 7
    assert len(index_numbers(["Müller", "ab"], ORGANIZATION, "default")) == 1 + 4
    assert not set(index_numbers(["xylophone"], ORGANIZATION, "default")) <= numbers_of_row("telephone xylograph")


def test_index_numbers__of_a_long_text__are_some_of_its_trigrams() -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    assert 20 <= len(index_numbers([text], ORGANIZATION, "default")) <= 41


def test_index_numbers__of_another_organization__do_not_find_a_row() -> None:
    own, other = index_numbers([], ORGANIZATION, "default"), index_numbers([], new_id(), "default")
    assert set(own) <= numbers_of_row("text")
    assert not set(other) <= numbers_of_row("text")
