"""
The clock that all hosts share: the database's.

What one host signs or stores and another one compares with its own clock (stamps of pages, tokens of the live stream,
ids of submissions) is wrong by the difference of the two clocks. So web and events measure how far theirs is from
PostgreSQL's, once in MEASURED_FOR_SECONDS, and correct it. On SQLite there is one host, so there is nothing to measure.
"""

import asyncio
import datetime as dt
import logging
import threading
import time
import uuid

from django.db import Error, connection

from config.postgresql import sessions
from config.times import now

MEASURED_FOR_SECONDS = 60.0
RETRY_SECONDS = 5.0  # after a failure; the last difference counts meanwhile
TOLERATED_SECONDS = 0.25  # less is not corrected, so that hosts with synchronized clocks never jump
logger = logging.getLogger(__name__)


class _Difference:
    """Seconds that the database's clock is ahead of ours, and until when (monotonic) that holds."""

    def __init__(self, *, measures: bool) -> None:
        self.seconds = 0.0
        self._measures = measures
        self._until = 0.0
        self._has_failed = False
        self._lock = threading.Lock()

    def is_stale(self) -> bool:
        return self._measures and time.monotonic() >= self._until

    def now(self) -> float:
        """Return the difference. One thread measures it; the others, and event loops, take the last one."""
        if self.is_stale() and not in_event_loop() and self._lock.acquire(blocking=False):
            try:
                self._measure()
            finally:
                self._lock.release()
        return self.seconds

    def _measure(self) -> None:
        try:
            measured = measure()
        except Error as error:
            self._until = time.monotonic() + RETRY_SECONDS
            if not self._has_failed:  # one line for an outage
                logger.warning("the database's clock could not be read: %s", error)
            self._has_failed = True
            return
        self._has_failed = False
        self.seconds = measured if abs(measured) >= TOLERATED_SECONDS else 0.0
        self._until = time.monotonic() + MEASURED_FOR_SECONDS


# Other roles compare nothing with other hosts.
_difference = _Difference(measures=sessions.role() in sessions.QUICK)


def measure() -> float:
    """Return how many seconds the database's clock is ahead of this host's."""
    if connection.vendor != "postgresql":
        return 0.0
    before = time.time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        (there,) = cursor.fetchone()
    return float(there) - (before + time.time()) / 2


def in_event_loop() -> bool:
    """Return whether a query would block the coroutines of this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def is_stale() -> bool:
    """Return whether an event loop should have `difference()` called in a thread before it asks for the time."""
    return _difference.is_stale()


def difference() -> float:
    """Return the seconds to add to this host's clock."""
    return _difference.now()


def shared_time() -> float:
    """Return the epoch second by the database's clock."""
    return time.time() + difference()


def shared_now() -> dt.datetime:
    """Return the same as a UTC time in whole milliseconds, as config.times.now does by this host's clock."""
    return now() + dt.timedelta(milliseconds=round(difference() * 1000))


def by_shared_time(new_id: uuid.UUID) -> uuid.UUID:
    """Return a new UUIDv7 moved to the database's clock: its first 48 bits are milliseconds (RFC 9562, 5.7)."""
    ahead = difference()
    return uuid.UUID(int=new_id.int + (round(ahead * 1000) << 80)) if ahead else new_id
