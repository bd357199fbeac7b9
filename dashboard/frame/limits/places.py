"""
Requests at the same time, in this process: expensive ones of an organization, and those of an account while somebody
types. Each holds one of 8 threads.

Two of these run, and one more waits. A newer one replaces the one that waits, whose answer is out of date already.
"""

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext

from config.api.errors import RateLimited
from dashboard.frame.limits.costs import is_expensive, typed_kind

EXPENSIVE_AT_ONCE = 4  # of an organization
TYPED_AT_ONCE = 2  # of an account and a kind
PATIENCE_SECONDS = 10.0  # for which one more waits
RETRY_AFTER_SECONDS = 2

_lock = threading.Lock()
running: Counter[Hashable] = Counter()
waiting: dict[Hashable, "_Turn"] = {}


class AtOnce(RateLimited):
    """The organization has EXPENSIVE_AT_ONCE expensive requests here already."""


class Replaced(Exception):
    """A newer request of the same kind came while this one waited."""


class _Turn(threading.Event):
    """The wait for a place, which ends when it is set. `is_mine`: the place is taken."""

    is_mine = False


@contextmanager
def place_for(request: HttpRequest, view: Callable[..., Any], organization: Hashable) -> Iterator[None]:
    """Hold the place that a request needs, if any. Raises AtOnce and Replaced."""
    key: Hashable = None
    if kind := typed_kind(request, view):
        key = request.user.pk, kind
        _wait_for_turn(key)
    elif is_expensive(request, view):
        key = organization
        _take_place(key)
    try:
        yield
    finally:
        if key is not None:
            _leave(key)


def _take_place(key: Hashable) -> None:
    with _lock:
        if running[key] < EXPENSIVE_AT_ONCE:
            running[key] += 1
            return
    text = gettext("Your organization runs %(most)s expensive requests already. Try again when one has ended.")
    raise AtOnce(text % {"most": EXPENSIVE_AT_ONCE}, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})


def _wait_for_turn(key: Hashable) -> None:
    with _lock:
        if running[key] < TYPED_AT_ONCE:
            running[key] += 1
            return
        if older := waiting.get(key):
            older.set()
        mine = waiting[key] = _Turn()
    mine.wait(PATIENCE_SECONDS)
    with _lock:
        if waiting.get(key) is mine:
            del waiting[key]
        if not mine.is_mine:
            raise Replaced


def _leave(key: Hashable) -> None:
    """Pass the place on to the request that waits, else free it."""
    with _lock:
        if turn := waiting.pop(key, None):
            turn.is_mine = True
            turn.set()
            return
        running[key] -= 1
        if not running[key]:
            del running[key]
