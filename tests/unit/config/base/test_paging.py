"""Numbered pages and the numbers in a query (`config.base.paging`)."""

import dataclasses

import pytest

from config.base.paging import NumberedPage, page_number, whole_number


@dataclasses.dataclass(frozen=True, slots=True)
class Page(NumberedPage):
    number: int
    last: int

    @property
    def last_number(self) -> int:
        return self.last


@pytest.mark.parametrize(
    ("number", "last", "previous", "following"),
    [(1, 1, None, None), (1, 3, None, 2), (2, 3, 1, 3), (3, 3, 2, None), (9, 3, 3, None)],
)
def test_page__leads_to_its_neighbors(number: int, last: int, previous: int | None, following: int | None) -> None:
    page = Page(number, last)

    assert (page.previous if page.has_previous else None) == previous
    assert (page.next if page.has_next else None) == following


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("007", 7), ("400", 400), ("401", 400), ("9" * 11, 400), ("9" * 12, 1)]
    + [(text, 1) for text in ("", "0", "-1", "+2", "1_0", "1.0", " 2", "²", "\u0662", "x")],
)
def test_page_number__any_text__is_a_page_that_exists(text: str, number: int) -> None:
    assert page_number(text, farthest=400) == number


def test_whole_number__no_number__is_zero() -> None:
    assert [whole_number(text) for text in ("12", "1e3", "")] == [12, 0, 0]
