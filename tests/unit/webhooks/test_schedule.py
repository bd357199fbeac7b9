"""When a failed attempt is retried, and when an endpoint is disabled (docs/contract.md 7)."""

import datetime as dt

import pytest

from webhooks.channels.webhook import is_hopeless
from webhooks.outbox.retry_schedule import delay_after

MINUTE, HOUR, DAY = 60, 3600, 86_400
SECONDS_AFTER = [5, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def delays(failures: int, **options: float) -> list[float]:
    """Return many draws, in seconds, of the delay after the n-th failure."""
    drawn = [delay_after(failures, **options) for _ in range(500)]
    return [delay.total_seconds() for delay in drawn if delay is not None]


@pytest.mark.parametrize(("failures", "seconds"), list(enumerate(SECONDS_AFTER, start=1)))
def test_delay__after_each_failure__is_that_of_the_table_within_a_fifth(failures: int, seconds: float) -> None:
    drawn = delays(failures)
    assert len(drawn) == 500
    assert 0.8 * seconds <= min(drawn) < 0.9 * seconds
    assert 1.1 * seconds < max(drawn) <= 1.2 * seconds


@pytest.mark.parametrize("failures", [11, 12, 1000])
def test_delay__after_the_last_attempt__is_none(failures: int) -> None:
    assert delay_after(failures) is None
    assert delay_after(failures, retry_after_seconds=60) is None


@pytest.mark.parametrize(
    ("failures", "asked", "least", "most"),
    [
        (1, 0, 4, 6),
        (1, 3, 4, 6),
        (1, 120, 120, 120),
        (2, 50, 50, 72),
        (3, 10 * DAY, DAY, DAY),
        (10, 1, 0.8 * DAY, 1.2 * DAY),
    ],
)
def test_delay__with_retry_after__is_only_lengthened_to_a_day_at_most(
    failures: int, asked: float, least: float, most: float
) -> None:
    assert all(least <= seconds <= most for seconds in delays(failures, retry_after_seconds=asked))


@pytest.mark.parametrize(
    ("failing_for", "failures", "hopeless"),
    [
        (None, 1000, False),
        (dt.timedelta(days=5), 10, True),
        (dt.timedelta(days=5), 9, False),
        (dt.timedelta(days=5, milliseconds=-1), 10, False),
        (dt.timedelta(days=30), 10, True),
        (dt.timedelta(minutes=5), 10_000, False),
    ],
)
def test_endpoint__failing_so_long_and_often__is_hopeless(
    failing_for: dt.timedelta | None, failures: int, hopeless: bool
) -> None:
    since = None if failing_for is None else NOW - failing_for
    assert is_hopeless(since, failures, NOW) is hopeless
