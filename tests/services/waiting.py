"""The one place where tests wait: poll until a condition holds, or let a time pass that is part of the test."""

import asyncio
import time
from collections.abc import Callable
from typing import Literal, TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.02  # the first pause between two calls of a probe
POLL_SHARE = 0.1  # of the time waited so far: a probe is often a request, and what takes seconds needs few of them
MOST_POLL_SECONDS = 0.25
# For what must happen, however long a busy machine takes. Bounds that are promised are the tests' own.
PATIENCE_SECONDS = 30.0


def let_pass(seconds: float) -> None:
    """
    Let time pass whose length is part of the test: how long an outage lasts, the pace of a reader or of a slow server.

    There is nothing to wait for then; for everything else there is `eventually`.
    """
    time.sleep(seconds)


def eventually(
    probe: Callable[[], T | Literal[False] | None],
    timeout: float = PATIENCE_SECONDS,
    because: str = "",
    *,
    every: float | None = None,
) -> T:
    """
    Return the first true answer of `probe`, called for `timeout` seconds: `every` so many, or in growing pauses.

    An AssertionError in `probe` means "not yet", so it may be a row of asserts that ends with `return True`.
    Raises AssertionError with the last thing seen.
    """
    start = time.monotonic()
    while True:
        try:
            if answer := probe():
                return answer
            seen, cause = f"the last answer was {answer!r}", None
        except AssertionError as error:
            seen, cause = str(error), error
        waited = time.monotonic() - start
        if waited >= timeout:
            raise AssertionError(f"not within {timeout:g} s: {because or 'the condition'}; {seen}") from cause
        time.sleep(every or min(max(POLL_SECONDS, waited * POLL_SHARE), MOST_POLL_SECONDS))


async def reached(condition: Callable[[], object]) -> None:
    """Return when the condition holds, and let the event loop run meanwhile."""
    while not condition():
        await asyncio.sleep(POLL_SECONDS)


def takes_at_most(seconds: float, act: Callable[[], object]) -> bool:
    """Return whether one of three calls takes at most so long: what is slow by itself is slow each time."""

    def duration() -> float:
        start = time.monotonic()
        act()
        return time.monotonic() - start

    return any(duration() <= seconds for _ in range(3))
