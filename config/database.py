"""
Database helpers of every app: snapshots, ids in the form of the driver, and recovery from broken connections.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, connections, transaction

DATABASE_AWAY = (OperationalError, InterfaceError)
LIMIT_EXCEEDED = "54"  # class of SQLSTATEs: an OperationalError in psycopg, but caused by the row, so permanent


def is_away(error: BaseException) -> bool:
    """Return whether an error means that the database is unavailable or busy, so that a retry can succeed."""
    state = str(getattr(error.__cause__, "sqlstate", None) or "")
    return isinstance(error, DATABASE_AWAY) and not state.startswith(LIMIT_EXCEEDED)


@contextmanager
def snapshot(alias: str = settings.SNAPSHOT) -> Iterator[str]:
    """Yield the alias of a connection on which every query in the block sees the same snapshot."""
    with transaction.atomic(using=alias):
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


def drop_broken_connections() -> None:
    """
    Close this thread's connections, and the dead ones of the pools, so that the next query gets a working one.

    A restart of PostgreSQL breaks every pooled connection; without this each of them would fail one request.
    """
    for each in connections.all(initialized_only=True):
        if not each.in_atomic_block:
            each.close()
        pool: Any = getattr(each, "pool", None)  # only PostgreSQL has one
        if pool is not None:
            pool.check()
