"""
The two statements of `/api/submit` on SQLite: without Django's cursor, and with one commit for rows that wait together.

SQLite has one writer. A thread that finds it busy sleeps for 1, 2, 5 and up to 100 ms, however soon it is free again,
and most of a submission's time was this sleep (docs/adr/0107). So threads of a process queue here. One of them inserts
every row that waits, its own included, by one statement: each is answered after the commit that has its row.
"""

import sqlite3
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

IS_USED = settings.DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3"


def fetch_one(sql: str, parameters: Sequence[Any]) -> Any:
    """Run a statement with `%s` for its parameters and return its only row, or None. Raises Django's errors."""
    django = connections["default"]  # once: `django.db.connection` looks it up for each attribute
    if not _is_plain(django):
        with django.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchone()
    with django.wrap_database_errors:
        return django.connection.execute(_in_sqlite(sql), parameters).fetchone()


def _is_plain(django: BaseDatabaseWrapper) -> bool:
    """Connect if necessary. Return whether Django's cursor would only run a statement and its commit."""
    django.ensure_connection()
    return not (django.in_atomic_block or django.execute_wrappers or django.queries_logged)


@lru_cache
def _in_sqlite(sql: str) -> str:
    return sql.replace("%s", "?")


class _Row:
    """A row that waits. `turn` is free once it is settled, or once its thread is to write (`leads`)."""

    __slots__ = ("error", "is_written", "leads", "turn", "values")

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values
        self.leads = False
        self.is_written = False
        self.error: Exception | None = None
        self.turn = threading.Lock()
        self.turn.acquire()


class Inserts:
    """Inserts into one table. `head`: the statement up to VALUES. `columns`: how many values a row has."""

    def __init__(self, head: str, columns: int) -> None:
        self._head = head
        self._one = f"({', '.join('?' * columns)})"
        self._lock = threading.Lock()  # of the next two, for moments
        self._waiting: list[_Row] = []  # at most one for each thread of the process
        self.is_led = False

    @property
    def waiting(self) -> int:
        """Return how many rows wait for a thread that writes."""
        return len(self._waiting)

    def insert(self, values: Sequence[Any]) -> None:
        """
        Insert a row, whose commit is on disk when this returns; in a transaction, the row belongs to that.

        Raises Django's errors, of this row only.
        """
        django = connections["default"]
        if not _is_plain(django):
            with django.cursor() as cursor:
                cursor.execute(f"{self._head} {self._one.replace('?', '%s')}", values)
            return
        own = _Row(values)
        with self._lock:
            self._waiting.append(own)
            if not self.is_led:
                self.is_led = own.leads = True
        if not own.leads:
            own.turn.acquire()
        if own.leads:
            self._lead(django.connection, own)
        if not own.is_written:
            with django.wrap_database_errors:
                raise own.error or sqlite3.OperationalError("the thread that was to write this row has ended")

    def _lead(self, raw: sqlite3.Connection, own: _Row) -> None:
        """Write all rows that wait, then let a thread lead whose row has come meanwhile."""
        with self._lock:
            rows, self._waiting = self._waiting, []
        try:
            self._write(raw, rows)
        finally:
            with self._lock:
                following = self._waiting[:1]
                self.is_led = bool(following)
            for row in following:
                row.leads = True
            for row in [*rows, *following]:
                if row is not own:
                    row.turn.release()

    def _write(self, raw: sqlite3.Connection, rows: Sequence[_Row]) -> None:
        """Insert all rows or, if one of them is refused, each by itself. What fails is a row's `error`."""
        marks = ", ".join([self._one] * len(rows))
        try:
            raw.execute(f"{self._head} {marks}", [value for row in rows for value in row.values])
        except Exception as error:
            # A locked file, or a full disk, would fail each of them, and the lock after its time for each.
            if len(rows) > 1 and not isinstance(error, sqlite3.OperationalError):
                for row in rows:
                    self._write(raw, [row])
                return
            for row in rows:
                row.error = error
        else:
            for row in rows:
                row.is_written = True
