"""When a failed attempt is tried again (CONTRACT section 7)."""

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
JITTER = 0.2  # each delay is lengthened or shortened by up to a fifth, so that a healed endpoint is not stormed
LONGEST_RETRY_AFTER = 24 * HOURS

DISABLE_AFTER = dt.timedelta(days=5)  # of failing without a single success
DISABLE_AFTER_FAILURES = 10


def delay_after(failures: int, *, retry_after_seconds: float | None = None) -> dt.timedelta | None:
    """
    Return how long to wait after the n-th failure of a round, n from 1; None when it was the last one.

    A receiver's Retry-After only lengthens the delay, to 24 hours at most.
    """
    if failures > len(DELAYS):
        return None
    seconds = DELAYS[failures - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spread, not secrecy
    if retry_after_seconds is not None:
        seconds = max(seconds, min(retry_after_seconds, LONGEST_RETRY_AFTER))
    return dt.timedelta(seconds=seconds)


def is_beyond_hope(failing_since: dt.datetime | None, failures: int, moment: dt.datetime) -> bool:
    """Tell whether an endpoint has failed long and often enough to be disabled."""
    if failing_since is None or failures < DISABLE_AFTER_FAILURES:
        return False
    return moment - failing_since >= DISABLE_AFTER
