"""When a failed attempt is retried (docs/contract.md 7)."""

import datetime as dt
import random

SECONDS, MINUTES, HOURS = 1.0, 60.0, 3600.0
DELAYS = (
    5 * SECONDS,
    1 * MINUTES,
    5 * MINUTES,
    30 * MINUTES,
    2 * HOURS,
    5 * HOURS,
    10 * HOURS,
    14 * HOURS,
    20 * HOURS,
    24 * HOURS,
)
JITTER = 0.2  # each delay is lengthened or shortened by up to a fifth, so that an endpoint that recovers is not flooded
LONGEST_RETRY_AFTER = 24 * HOURS


def delay_after(failures: int, *, retry_after_seconds: float | None = None) -> dt.timedelta | None:
    """
    Return the delay after the n-th failure of a round, n from 1; None after the last one.

    A receiver's Retry-After only lengthens the delay, to 24 hours at most.
    """
    if failures > len(DELAYS):
        return None
    seconds = DELAYS[failures - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spread, not secrecy
    if retry_after_seconds is not None:
        seconds = max(seconds, min(retry_after_seconds, LONGEST_RETRY_AFTER))
    return dt.timedelta(seconds=seconds)
