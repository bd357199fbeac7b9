"""Following the cursor, for the drivers in Python."""

from collections.abc import Callable
from typing import Any

from tests.services.waiting import let_pass


def follow(ask: Callable[[str], Any], count: int) -> list[str]:
    """Return the ids of the first `count` submissions by the cursor: one can be read on within seconds."""
    ids: list[str] = []
    cursor = ""
    while len(ids) < count:
        page = ask(cursor)
        ids += [row.id for row in page.data]
        # `next` is a name of Python, which one of the generators changes.
        cursor = getattr(page.pagination, "next_", None) or page.pagination.next
        if not page.pagination.has_more:
            let_pass(0.1)  # the pace of a polite client
    return ids
