"""
Database helpers of every app: snapshots, ids in the form of the driver, and recovery from broken connections.
"""

import datetime as dt
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError, connection, connections, transaction

from config.postgresql.connections import LIMIT
from config.times import now

# The classes of errors that can mean an unavailable database; `is_away` decides. A read-only PostgreSQL raises
# InternalError.
DATABASE_AWAY = (OperationalError, InterfaceError, InternalError)
LIMIT_EXCEEDED = "54"  # class of SQLSTATEs: an OperationalError in psycopg, but caused by the row, so permanent
READ_ONLY = "25006"  # a standby, or a primary after a fail-over
SESSION_ENDED = ("25P03", "25P04")  # the server ended the session: too long idle in a transaction, or too long in all
BUSY = ("40", "55P03", "57014")  # deadlocks, and limits of a lock or a statement: the next request may well succeed
DRAIN_PAUSE_SECONDS = 1.0

_drained: dict[int, float] = {}  # pool: when


def is_away(error: BaseException) -> bool:
    """
    Return whether an error means that the database is unavailable, read-only, full or busy, so a retry can succeed.

    Takes any exception; those of the drivers count only as Django raises them.
    """
    if isinstance(error, InternalError):
        return sqlstate(error) in (READ_ONLY, *SESSION_ENDED)
    return isinstance(error, DATABASE_AWAY) and not sqlstate(error).startswith(LIMIT_EXCEEDED)


def is_busy(error: BaseException) -> bool:
    """Return whether an `is_away` error is about one statement that waited too long: no outage."""
    return sqlstate(error).startswith(BUSY) or "database is locked" in str(error)


def sqlstate(error: BaseException) -> str:
    """Return PostgreSQL's code, empty for errors of SQLite and of the connection."""
    return str(getattr(error.__cause__, "sqlstate", None) or "")


@contextmanager
def snapshot(alias: str = settings.SNAPSHOT) -> Iterator[str]:
    """Yield the alias of a connection on which every query in the block sees the same snapshot."""
    with transaction.atomic(using=alias):
        if seconds := connections[alias].settings_dict.get(LIMIT):
            with connections[alias].cursor() as cursor:
                cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{round(seconds * 1000)}"])
        yield alias


def as_uuid(value: uuid.UUID | str) -> uuid.UUID:
    """Return an id that a raw query returned: a UUID from PostgreSQL, 32 hexadecimal digits from SQLite."""
    return value if isinstance(value, uuid.UUID) else uuid.UUID(value)


def database_id(value: uuid.UUID) -> uuid.UUID | str:
    """Return an id as a parameter of a raw query."""
    return value if connection.features.has_native_uuid_field else value.hex


def now_in_sql() -> str:
    """Return the database's clock for a raw query with parameters, as Django's `Now()` writes it."""
    if connection.vendor == "sqlite":
        return "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')"
    return "statement_timestamp()"


def database_now() -> dt.datetime:
    """
    Return the time by the database's clock, in whole milliseconds as `config.times.now`.

    For rows that are inserted in bulk: with an expression such as `Now()` Django cannot send them as arrays.
    """
    if connection.vendor == "sqlite":
        return now()  # the same host
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {now_in_sql()}")
        moment: dt.datetime = cursor.fetchone()[0]
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def lock_name(name: str) -> None:
    """
    Lock what has no row, such as a mailbox, until the transaction ends. Several are locked in the order of their names.

    SQLite has one writer at a time, which this transaction is already.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


def give_back_connection() -> None:
    """
    Return this thread's connection to the pool, where there is one: a thread that polls needs it for milliseconds.

    One to SQLite stays open. Opening it again would read the whole schema, which takes longer than most polls.
    """
    if not connection.in_atomic_block:  # a caller's
        connection.close_if_unusable_or_obsolete()


def drop_broken_connections(error: BaseException | None = None) -> None:
    """
    Close this thread's connections, and the dead ones of the pools, so that the next query gets a working one.

    A restart of PostgreSQL breaks every pooled connection; without this each of them would fail one request. Those to a
    read-only server work, but after a fail-over new ones lead to the server that takes writes.
    """
    for each in connections.all(initialized_only=True):
        if not each.in_atomic_block:
            each.close()
        pool: Any = getattr(each, "pool", None)  # only PostgreSQL has one
        if pool is None or pool.closed:  # not opened yet: it has no connections, and cannot be checked
            continue
        pool.check()
        if error is not None and sqlstate(error) == READ_ONLY:
            _drain(pool)


def _drain(pool: Any) -> None:
    """Replace every connection of a pool, at most once a second."""
    moment = time.monotonic()
    if moment - _drained.get(id(pool), 0.0) >= DRAIN_PAUSE_SECONDS:
        _drained[id(pool)] = moment
        pool.drain()
