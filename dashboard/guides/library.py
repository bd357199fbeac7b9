"""
The guides: documents of `docs/` for people who use or run the service, read and rendered once in a process.

Records of decisions and house rules are for people who change the code: they stay out.
"""

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from dashboard.guides.rendering import Document

FOLDER = Path(settings.BASE_DIR) / "docs"


@dataclasses.dataclass(frozen=True, slots=True)
class Guide:
    """A document that is served: `name` is that of its file and of its page."""

    name: str
    summary: str  # for the contents, and for llms.txt

    @property
    def title(self) -> str:
        """The first line, without rendering the rest."""
        return _text(self.name).partition("\n")[0].removeprefix("# ")


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """A guide as it is shown, between its neighbors in the reading order."""

    guide: Guide
    document: "Document"
    before: Guide | None
    after: Guide | None


# Groups in the reading order.
GROUPS: dict[str, tuple[Guide, ...]] = {
    "Begin": (
        Guide("start", "From nothing to a form on your page and its first submission, in five minutes."),
        Guide("recipes", "React, Next.js, Vue, Astro, Hugo, Webflow and WordPress, each with code to copy."),
        Guide("moving", "From Formspree, Web3Forms, Netlify and others: change one address."),
    ),
    "Use": (
        Guide("dashboard", "Every screen: what it shows, and what its buttons do."),
        Guide("pages", "The script tag, plain HTML, the hosted page, and keeping spam out."),
        Guide("destinations", "Chats, sheets and other services: the messages, templates, what needs attention."),
        Guide("webhooks", "The message, the log, allowed addresses, and webhooks that a page names."),
        Guide("delivery", "Retries, failures, duplicates; verifying a message in five languages."),
    ),
    "Look up": (
        Guide("api", "Every endpoint, with a line of curl."),
        Guide("contract", "Every promise to clients, numbered: permissions, errors, limits."),
    ),
    "Run": (
        Guide("running", "Production: roles, environment, backups, upgrades, health, failures."),
        Guide("scaling", "Several hosts: connections, PgBouncer, a read replica, and what submissions cost."),
        Guide("benchmarks", "Speed, memory and size, measured next to rivals on one machine."),
        Guide("security", "Promises about security, the test of each, and their limits."),
    ),
}
GUIDES = {guide.name: guide for group in GROUPS.values() for guide in group}
NAMES = frozenset(GUIDES)


def page_of(name: str) -> Page:
    """Return the page of a guide. Raises KeyError."""
    return _page.__wrapped__(name) if settings.DEBUG else _page(name)  # an author sees the file as it is now


@functools.cache
def _page(name: str) -> Page:
    from dashboard.guides.rendering import render  # with markdown-it: 12 ms of each start

    guides = list(GUIDES.values())
    place = guides.index(GUIDES[name])
    neighbors = (None, *guides, None)
    return Page(guides[place], render(_text(name), NAMES), neighbors[place], neighbors[place + 2])


def _text(name: str) -> str:
    return _read.__wrapped__(name) if settings.DEBUG else _read(name)


@functools.cache
def _read(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")
