"""
Database helpers of every app: snapshots, ids in the form of the driver, prepared statements, and recovery from broken
connections.
"""

import datetime as dt
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import Error, InterfaceError, InternalError, OperationalError, connection, connections, transaction

from config.base.times import now
from config.environment.postgresql import LIMIT

# The classes of errors that can mean an unavailable database; `is_away` decides. A read-only PostgreSQL raises
# InternalError.
DATABASE_AWAY = (OperationalError, InterfaceError, InternalError)
LIMIT_EXCEEDED = "54"  # class of SQLSTATEs: an OperationalError in psycopg, but caused by the row, so permanent
READ_ONLY = "25006"  # a standby, or a primary after a fail-over
SESSION_ENDED = ("25P03", "25P04")  # the server ended the session: too long idle in a transaction, or too long in all
BUSY = ("40", "55P03", "57014")  # deadlocks, and limits of a lock or a statement: the next request may well succeed
# A migration has given the result other columns; a pooler has lost the statement, or given us another's session.
OUTDATED = ("0A000", "26000", "42P05")


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
    Return the time by the database's clock, in whole milliseconds as `config.base.times.now`.

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


def drop_broken_connections() -> None:
    """
    Close this thread's connections after an `is_away` error, so that the next query gets working ones.

    Those to a read-only server work, but after a fail-over new ones lead to the server that takes writes.
    """
    for each in connections.all(initialized_only=True):
        if not each.in_atomic_block:
            each.close()


def execute_prepared(sql: str, parameters: Sequence[Any]) -> Any:
    """
    Run a statement, which PostgreSQL parses and plans once for each connection (docs/adr/0099).

    Return its cursor, valid until this connection runs the same text again. Raises Django's errors. It is psycopg's own
    cursor, with parameters bound by the server; Django's writes them into the text, which takes three times as long.
    Outside a transaction, an outdated statement runs again over a new connection, unprepared, so that no pooler can
    lose it. On SQLite, and while Django reports statements, it runs as every other one.
    """
    django: Any = connections["default"]  # once: `django.db.connection` looks it up for each attribute
    django.ensure_connection()
    is_plain = not (django.execute_wrappers or django.queries_logged)
    if is_plain and settings.DATABASE_PREPARED_STATEMENTS and django.vendor == "postgresql":
        django.validate_no_broken_transaction()
        try:
            with django.wrap_database_errors:
                return _execute_prepared(django.connection, sql, parameters)
        except Error as error:
            if sqlstate(error) not in OUTDATED or django.in_atomic_block:
                raise
        django.close()
    cursor = django.cursor()
    cursor.execute(sql, parameters)
    return cursor


def _execute_prepared(raw: Any, sql: str, parameters: Sequence[Any]) -> Any:
    cursors = vars(raw).setdefault("prepared_cursors", {})  # kept: making one takes a fifth of the statement's time
    if sql not in cursors:
        from psycopg import Cursor  # SQLite does not need the memory of psycopg

        cursors[sql] = Cursor(raw)
    raw.prepare_threshold = 0
    try:
        return cursors[sql].execute(sql, parameters, prepare=True)
    finally:
        raw.prepare_threshold = None  # as Django has it: psycopg would note the text of every other statement
