"""
The database as every app uses it: snapshots, ids as drivers take them, and connections that a restart has broken.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, connections, transaction

DATABASE_AWAY = (OperationalError, InterfaceError)
LIMIT_EXCEEDED = "54"  # class of PostgreSQL's SQLSTATEs, of psycopg's OperationalErrors too: the row's fault, for ever


def is_away(error: BaseException) -> bool:
    """Tell whether an error means that the database is away or busy, so that trying again can help."""
    state = str(getattr(error.__cause__, "sqlstate", None) or "")
    return isinstance(error, DATABASE_AWAY) and not state.startswith(LIMIT_EXCEEDED)


@contextmanager
def snapshot(alias: str = settings.SNAPSHOT) -> Iterator[str]:
    """Give the alias of a database connection on which every query until the end sees the same moment."""
    with transaction.atomic(using=alias):
        yield alias


def as_uuid(value: uuid.UUID | str) -> uuid.UUID:
    """Return an id as the driver gave it: PostgreSQL's as UUID, SQLite's as 32 digits."""
    return value if isinstance(value, uuid.UUID) else uuid.UUID(value)


def database_id(value: uuid.UUID) -> uuid.UUID | str:
    """Return an id as the driver takes it."""
    return value if connection.features.has_native_uuid_field else value.hex


def drop_broken_connections() -> None:
    """
    Close this thread's connections, and the pools' dead ones, so that the next query gets one that works.

    PostgreSQL's restart breaks every pooled connection; without this each would cost one request its answer.
    """
    for each in connections.all(initialized_only=True):
        if not each.in_atomic_block:
            each.close()
        pool: Any = getattr(each, "pool", None)  # PostgreSQL alone has one
        if pool is not None:
            pool.check()
