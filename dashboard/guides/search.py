"""The search in the guides: every word must be in a section; headings count more than text."""

import dataclasses
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.urls import reverse

from dashboard.guides.library import GUIDES, Guide

if TYPE_CHECKING:
    from dashboard.guides.rendering import Section

MAX_QUERY = 100  # characters; the rest is ignored
MAX_WORDS = 8
MAX_HITS = 30
EXCERPT = 200  # characters
BEFORE = 60  # of them before the first hit


@dataclasses.dataclass(frozen=True, slots=True)
class Hit:
    """A section that has every word."""

    guide: Guide
    section: "Section"
    words: list[str]
    score: int

    @property
    def address(self) -> str:
        page = reverse("guides:page", args=[self.guide.name])
        return f"{page}#{self.section.anchor}" if self.section.anchor else page

    @property
    def excerpt(self) -> Iterator[tuple[str, bool]]:
        """A part of the text as `(text, whether it is a word of the query)`."""
        text, lower = self.section.text, self.section.text.lower()
        places = [place for word in self.words if (place := lower.find(word)) >= 0]
        start = max(min(places, default=0) - BEFORE, 0)
        shown = " ".join(text[start : start + EXCERPT].split())
        if start:
            yield "…", False
        either = re.compile(f"({'|'.join(re.escape(word) for word in self.words)})", re.IGNORECASE)
        for number, part in enumerate(either.split(shown)):
            if part:
                yield part, number % 2 == 1
        if start + EXCERPT < len(text):
            yield "…", False


def search(query: str) -> list[Hit]:
    """Return the best sections first, at most MAX_HITS."""
    words = words_of(query)
    hits = [
        Hit(guide, section, words, score)
        for guide in GUIDES.values()
        for title in [guide.title]
        for section in guide.document.sections
        if (section.heading or section.text) and (score := _score(title, section, words))
    ]
    return sorted(hits, key=lambda hit: -hit.score)[:MAX_HITS]


def words_of(query: str) -> list[str]:
    """Return the words that are searched for, each once."""
    return list(dict.fromkeys(query[:MAX_QUERY].lower().split()))[:MAX_WORDS]


def _score(title: str, section: "Section", words: list[str]) -> int:
    """Return 0 without words, and if one is missing."""
    heading, text, total = section.heading.lower(), section.text.lower(), 0
    for word in words:
        found = 20 * (word in heading) + min(text.count(word), 5)
        if not found and word not in title.lower():
            return 0
        total += found
    return total
