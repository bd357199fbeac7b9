"""The one place where tests wait: poll until a condition holds, or fail with the last observation."""

import time
from collections.abc import Callable
from typing import Literal, TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.02


def eventually(probe: Callable[[], T | Literal[False] | None], timeout: float = 10.0, because: str = "") -> T:
    """
    Return the first true answer of `probe`, called again and again for `timeout` seconds.

    An AssertionError in `probe` means "not yet", so it may be a row of asserts that ends with `return True`.
    Raises AssertionError with the last thing seen.
    """
    end = time.monotonic() + timeout
    while True:
        try:
            if answer := probe():
                return answer
            seen, cause = f"the last answer was {answer!r}", None
        except AssertionError as error:
            seen, cause = str(error), error
        if time.monotonic() >= end:
            raise AssertionError(f"not within {timeout:g} s: {because or 'the condition'}; {seen}") from cause
        time.sleep(POLL_SECONDS)
