"""
The guides: documents of `docs/` for people who use or run the service.

Records of decisions and house rules are for people who change the code: they stay out.
"""

import dataclasses
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
        """The first line, without reading the rest."""
        with self._path.open(encoding="utf-8") as lines:
            return lines.readline().strip().removeprefix("# ")

    @property
    def document(self) -> "Document":
        """The file as it is now, rendered once for each of its versions."""
        from dashboard.guides.rendering import render  # with markdown-it: 12 ms of each start

        return render(self._path.read_text(encoding="utf-8"), NAMES)

    @property
    def _path(self) -> Path:
        return FOLDER / f"{self.name}.md"


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
