"""
Reads from a replica, at most LATE_SECONDS behind the primary (docs/adr/0102).

Only functions with `@may_be_late`, and exports, read there. The replica is used while it has replayed everything that
was committed LATE_SECONDS ago: once a second a process asks the primary for its place in the log, and each snapshot of
the replica says how far it has come. Otherwise, and after an error, the primary is read.
"""

import dataclasses
import enum
import functools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import Error, OperationalError, connections

LATE_SECONDS = 3.0  # SEEN_BEFORE of the dashboard's list is longer: the live stream announces all that it lacks
ASK_SECONDS = 1.0  # between two questions for the primary's place
REST_SECONDS = 3.0  # without the replica after it has failed
CANCELED = "57014"  # a statement over its limit would take as long on the primary
_PLACE = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
_REPLAYED = "SELECT CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint END"
_lateness_is_fine: ContextVar[bool] = ContextVar("lateness_is_fine", default=False)
_must_be_fresh: ContextVar[bool] = ContextVar("must_be_fresh", default=False)
logger = logging.getLogger(__name__)
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class ReplicaFailed(OperationalError):
    """The replica cannot be read now, or not any longer. Outside `may_be_late` it becomes 503."""


def may_be_late(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let the snapshots of a function that only reads come from the replica; if that fails, run it on the primary."""

    @functools.wraps(function)
    def read(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if not settings.DATABASE_REPLICA_URL or _must_be_fresh.get():
            return function(*args, **kwargs)
        before = _lateness_is_fine.set(True)
        try:
            return function(*args, **kwargs)
        except ReplicaFailed:
            _lateness_is_fine.set(False)
            return function(*args, **kwargs)
        finally:
            _lateness_is_fine.reset(before)

    return read


@contextmanager
def fresh() -> Iterator[None]:
    """Read everything inside from the primary: its user has just changed something."""
    before = _must_be_fresh.set(True)
    try:
        yield
    finally:
        _must_be_fresh.reset(before)


class Progress(enum.Enum):
    """How far a replica has come."""

    NEAR = "it has everything that was committed LATE_SECONDS ago"
    FAR = "it lacks something of that"
    UNKNOWN = "either: this process has asked too rarely"


class Places:
    """
    The primary's places in its log (bytes), with the time of each by this process's clock.

    That needs no clock of the replica, and is right while nothing is written.
    """

    def __init__(self) -> None:
        self._known: deque[tuple[float, int]] = deque(maxlen=int(LATE_SECONDS / ASK_SECONDS) + 2)
        self._lock = threading.Lock()

    def compare(self, replayed: int, ask: Callable[[], int]) -> Progress:
        """Return how far a replica is that has replayed the log up to this byte. `ask` returns the primary's place."""
        with self._lock:
            moment = self._ask(ask)
            recent = [(since, place) for since, place in self._known if moment - since <= LATE_SECONDS]
            older = [place for since, place in self._known if moment - since > LATE_SECONDS]
        if any(place <= replayed for _, place in recent):
            return Progress.NEAR
        return Progress.FAR if any(place > replayed for place in older) else Progress.UNKNOWN

    def known(self, ask: Callable[[], int] | None = None) -> list[tuple[float, int]]:
        """Return the known places; with `ask` the newest of them is less than ASK_SECONDS old."""
        with self._lock:
            if ask:
                self._ask(ask)
            return list(self._known)

    def learn(self, known: list[tuple[float, int]]) -> None:
        """Take the places over from another process of this host, unless ours are newer."""
        with self._lock:
            if known and (not self._known or known[-1] > self._known[-1]):
                self._known.clear()
                self._known.extend(known)

    def _ask(self, ask: Callable[[], int]) -> float:
        """Ask if that is due; return the time."""
        moment = time.monotonic()
        if not self._known or moment - self._known[-1][0] >= ASK_SECONDS:
            self._known.append((moment, ask()))
        return moment


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """The knowledge of a process about the replica, for another one on its host: their monotonic clocks agree."""

    places: list[tuple[float, int]]
    rests_until: float
    has_failed: bool


class Replica:
    """Whether the replica is used. One for each process."""

    def __init__(self) -> None:
        self._places = Places()
        self._rests_until = 0.0
        self._has_failed = False
        self._lock = threading.Lock()

    def known(self, *, asks: bool) -> Known | None:
        """Return what this process knows, None without a replica. `asks`: the primary for its place, if that is due."""
        if not settings.REPLICA_OF:
            return None
        places = self._places.known(_place_of_primary if asks else None)
        with self._lock:
            return Known(places, self._rests_until, self._has_failed)

    def learn(self, known: Known) -> None:
        """Take over what another process of this host knows."""
        self._places.learn(known.places)
        with self._lock:
            self._rests_until, self._has_failed = known.rests_until, known.has_failed

    def alias_for(self, alias: str) -> str:
        """Return the replica's alias for this one of the primary, "" if the primary should be read."""
        late = settings.REPLICA_OF.get(alias, "")
        is_fine = alias == settings.EXPORT or _lateness_is_fine.get()
        return late if late and is_fine and self._may_be_tried() else ""

    def _may_be_tried(self) -> bool:
        with self._lock:
            moment = time.monotonic()
            if moment < self._rests_until:
                return False
            if self._has_failed:  # one request tries it; the others wait for its result
                self._rests_until = moment + REST_SECONDS
            return True

    def is_near(self, alias: str) -> bool:
        """
        Return whether the snapshot that has just begun there has every commit of LATE_SECONDS ago.

        False if that is not known. Raises ReplicaFailed if it has not.
        """
        with connections[alias].cursor() as cursor:
            cursor.execute(_REPLAYED)
            (replayed,) = cursor.fetchone()
        if replayed is None:
            raise ReplicaFailed("it is no standby")
        progress = self._places.compare(int(replayed), _place_of_primary)
        if progress is Progress.FAR:
            raise ReplicaFailed(f"it is more than {LATE_SECONDS:g} s behind")
        if progress is Progress.NEAR:
            self._succeed()
        elif self._has_failed:  # known next time, if that is soon
            self._rests_until = time.monotonic() + ASK_SECONDS
        return progress is Progress.NEAR

    def _succeed(self) -> None:
        if not self._has_failed:
            return
        with self._lock:
            self._has_failed, self._rests_until = False, 0.0
        logger.warning("the replica is read again")

    def fail(self, error: Error, alias: str) -> None:
        """Do without the replica for REST_SECONDS. One line is logged for an outage."""
        with self._lock:
            self._rests_until = time.monotonic() + REST_SECONDS
            is_first, self._has_failed = not self._has_failed, True
        if is_first:
            logger.warning("the replica cannot be read, so the primary is: %s", str(error).strip())
            pool = getattr(connections[alias], "pool", None)
            if pool is not None and not pool.closed:
                pool.check()  # each of its broken connections would fail another request


def _place_of_primary() -> int:
    with connections["default"].cursor() as cursor:
        cursor.execute(_PLACE)
        return int(cursor.fetchone()[0])


REPLICA = Replica()
