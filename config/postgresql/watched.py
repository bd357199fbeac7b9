"""Connections of web processes, whose queries fail while the database is frozen (`config/postgresql/watch.py`)."""

import time
from collections.abc import Callable, Generator
from typing import Any, LiteralString, TypeVar

import psycopg
from django.db import connections
from psycopg.abc import PQGen

from config.postgresql.watch import FAILURE, SUSPICIOUS_SECONDS, WATCH, Watch

TEST_SECONDS = 2  # to connect, and again to commit; psycopg takes no shorter limit for the first
T = TypeVar("T")


class Frozen(psycopg.OperationalError):
    """The query was given up because the database does not answer."""


class WatchedConnection(psycopg.Connection[Any]):
    """
    A connection of the pool whose queries fail while the database is frozen.

    `cursors`: of its prepared statements, by their text (`config/postgresql/prepared.py`).
    """

    frozen_watch = WATCH

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cursors: dict[str, psycopg.Cursor[Any]] = {}

    @staticmethod
    def answers() -> bool:
        """Return whether the database answers."""
        return answers()

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Run the steps of a query."""
        try:
            return super().wait(_watched(gen, self.frozen_watch, self.answers), interval, timeout)
        except Frozen:
            self.pgconn.finish()  # the server may go on with the query, so nothing else can use this connection
            raise


def _watched(steps: PQGen[T], watch: Watch, test: Callable[[], bool]) -> Generator[Any, Any, T]:
    """Run the steps, which get 0 when nothing was received for an interval."""
    since = time.monotonic()
    if watch.is_frozen:
        raise Frozen(FAILURE)
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready:
                _check(since, watch, test)
            wanted = steps.send(ready)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # StopIteration has no type for it


def _check(since: float, watch: Watch, test: Callable[[], bool]) -> None:
    if watch.is_frozen:
        raise Frozen(FAILURE)
    if time.monotonic() - since > SUSPICIOUS_SECONDS:
        watch.suspect(test)


class _Tester(psycopg.Connection[Any]):
    """A connection whose every step has TEST_SECONDS."""

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = TEST_SECONDS) -> T:
        """Run the steps of a query."""
        return super().wait(gen, interval, timeout)


# Written to the log on disk, and to a synchronous standby, but to no table.
COMMIT = "SELECT pg_logical_emit_message(true, 'fieldpost', '')"


def answers(alias: str = "default", statement: LiteralString = COMMIT) -> bool:
    """Return whether the database answers a new connection within TEST_SECONDS, and then the statement as quickly."""
    parameters = connections[alias].get_connection_params() | {"connect_timeout": TEST_SECONDS, "autocommit": True}
    try:
        tester = _Tester.connect(**parameters)
    except psycopg.OperationalError as error:
        return not isinstance(error, psycopg.errors.ConnectionTimeout)
    try:
        tester.execute(statement)
    except psycopg.Error as error:
        return error.sqlstate is not None
    finally:
        tester.close()
    return True
