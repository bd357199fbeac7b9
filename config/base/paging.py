"""Numbered pages of a list on a screen, newest rows first, and whole numbers in a query."""

from abc import ABC, abstractmethod

MAX_DIGITS = 11  # of a number in a query: more than any list has rows, and far from what int() refuses


class NumberedPage(ABC):
    """The neighbors of page `number`, from 1, where `last_number` is the last page that can be shown."""

    __slots__ = ()
    number: int

    @property
    @abstractmethod
    def last_number(self) -> int:
        """The number of the oldest page that is known. Exact and bounded lists know it in different ways."""

    @property
    def has_previous(self) -> bool:
        return self.number > 1

    @property
    def has_next(self) -> bool:
        return self.number < self.last_number

    @property
    def previous(self) -> int:
        """The newer page; from beyond the end, the last one."""
        return min(self.number - 1, self.last_number)

    @property
    def next(self) -> int:
        return self.number + 1


def page_number(text: str, *, farthest: int) -> int:
    """Return the page of a query's `page`, from 1 to `farthest`; 1 for a text that is not a whole number."""
    return min(max(1, whole_number(text)), farthest)


def whole_number(text: str) -> int:
    """Return the whole number of a query's text, or 0: ASCII digits only, where int() would also take `1_0`."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else 0
