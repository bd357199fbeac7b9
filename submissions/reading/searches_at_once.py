"""Searches at the same time: each may read a whole table, so one organization gets a few of a process's threads."""

import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from config.api.errors import RateLimited

_running: Counter[uuid.UUID] = Counter()
_lock = threading.Lock()


@contextmanager
def searching(organization: uuid.UUID, text: str, *, running: str = "searches") -> Iterator[None]:
    """
    Hold a share of an organization while it searches for a text. Raises RateLimited over SEARCHES_AT_ONCE.

    `running`: the name of what takes the shares, in the message.
    """
    if not text:
        yield
        return
    _take(organization, running)
    try:
        yield
    finally:
        with _lock:
            _running[organization] -= 1
            if not _running[organization]:
                del _running[organization]


def _take(organization: uuid.UUID, running: str) -> None:
    most = settings.SEARCHES_AT_ONCE
    with _lock:
        if _running[organization] >= most:
            message = f"Your organization runs {most} {running} already. Try again when one has ended."
            raise RateLimited(message, headers={"Retry-After": "1"})
        _running[organization] += 1
