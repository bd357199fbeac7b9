"""The search in the guides: every word must be in a section; headings count more than text."""

import dataclasses
import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.conf import settings
from django.urls import reverse

from dashboard.guides.library import GUIDES, Page, page_of

if TYPE_CHECKING:
    from dashboard.guides.rendering import Section

MAX_QUERY = 100  # characters; the rest is ignored
MAX_WORDS = 8
MAX_HITS = 30
EXCERPT = 200  # characters
BEFORE = 60  # of them before the first hit


@dataclasses.dataclass(frozen=True, slots=True)
class Hit:
    """A section, and a part of its text as `(text, whether it is a word of the query)`."""

    page: Page
    section: "Section"
    excerpt: tuple[tuple[str, bool], ...]

    @property
    def address(self) -> str:
        page = reverse("guides:page", args=[self.page.guide.name])
        return f"{page}#{self.section.anchor}" if self.section.anchor else page


@dataclasses.dataclass(frozen=True, slots=True)
class _Entry:
    page: Page
    section: "Section"
    title: str  # lower case, as are the next two
    heading: str
    text: str


def search(query: str) -> list[Hit]:
    """Return the best sections first, at most MAX_HITS."""
    words = words_of(query)
    if not words:
        return []
    ranked = [(score, place, entry) for place, entry in enumerate(_entries()) if (score := _score(entry, words))]
    ranked.sort(key=lambda one: (-one[0], one[1]))
    return [Hit(entry.page, entry.section, tuple(_excerpt(entry, words))) for _, _, entry in ranked[:MAX_HITS]]


def words_of(query: str) -> list[str]:
    """Return the words that are searched for, each once."""
    return list(dict.fromkeys(query[:MAX_QUERY].lower().split()))[:MAX_WORDS]


def _entries() -> tuple[_Entry, ...]:
    return _made_entries.__wrapped__() if settings.DEBUG else _made_entries()


@functools.cache
def _made_entries() -> tuple[_Entry, ...]:
    return tuple(
        _Entry(page, section, page.guide.title.lower(), section.heading.lower(), section.text.lower())
        for page in map(page_of, GUIDES)
        for section in page.document.sections
        if section.heading or section.text
    )


def _score(entry: _Entry, words: list[str]) -> int:
    """Return 0 if a word is missing."""
    total = 0
    for word in words:
        found = 20 * (word in entry.heading) + min(entry.text.count(word), 5)
        if not found and word not in entry.title:
            return 0
        total += found
    return total


def _excerpt(entry: _Entry, words: list[str]) -> Iterator[tuple[str, bool]]:
    places = [place for word in words if (place := entry.text.find(word)) >= 0]
    start = max(min(places, default=0) - BEFORE, 0)
    text = entry.section.text
    shown = " ".join(text[start : start + EXCERPT].split())
    if start:
        yield "…", False
    either = re.compile(f"({'|'.join(re.escape(word) for word in words)})", re.IGNORECASE)
    for number, part in enumerate(either.split(shown)):
        if part:
            yield part, number % 2 == 1
    if start + EXCERPT < len(text):
        yield "…", False
