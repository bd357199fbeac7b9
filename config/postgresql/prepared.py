"""
Statements that a connection of the pool prepares on their first use: PostgreSQL parses and plans them once.

For the two statements of `/api/submit` (docs/adr/0099). They run on psycopg's own cursor, with parameters bound by the
server; Django's cursor writes them into the text of the statement, in Python. That took three times as long here, and
PostgreSQL three times as long there. `DATABASE_PREPARED_STATEMENTS=false` is for poolers that lose such statements.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

IS_USED = settings.DATABASE_PREPARED_STATEMENTS and "sqlite" not in settings.DATABASES["default"]["ENGINE"]
if IS_USED:  # SQLite does not need the memory of psycopg
    import psycopg
    from psycopg.errors import DuplicatePreparedStatement, FeatureNotSupported, InvalidSqlStatementName

    from config.postgresql.watched import WatchedConnection

    # A migration has given the result other columns; a pooler has lost the statement, or given us another's session.
    OUTDATED = (FeatureNotSupported, InvalidSqlStatementName, DuplicatePreparedStatement)


def execute(sql: str, parameters: Sequence[Any]) -> Any:
    """
    Run a statement on PostgreSQL and return its cursor, which is valid until this connection runs the same text again.

    Raises Django's errors. Outside a transaction, an outdated statement runs again over a new connection, unprepared,
    so that no pooler can lose it. Without a pool, and while Django reports statements, it runs as every other one.
    """
    django = connections["default"]  # once: `django.db.connection` looks it up for each attribute
    django.ensure_connection()
    if not isinstance(django.connection, WatchedConnection) or django.execute_wrappers or django.queries_logged:
        return _execute_unprepared(django, sql, parameters)
    django.validate_no_broken_transaction()
    with django.wrap_database_errors:
        try:
            return _execute(django.connection, sql, parameters)
        except OUTDATED:
            if django.in_atomic_block:
                raise
            django.connection.close()
    django.close()
    return _execute_unprepared(django, sql, parameters)


def _execute(raw: "WatchedConnection", sql: str, parameters: Sequence[Any]) -> "psycopg.Cursor[Any]":
    cursor = raw.cursors.get(sql)
    if cursor is None:
        cursor = raw.cursors[sql] = psycopg.Cursor(raw)  # kept: making one takes a fifth of the time of its statement
    raw.prepare_threshold = 0
    try:
        return cursor.execute(sql, parameters, prepare=True)
    finally:
        raw.prepare_threshold = None  # as Django has it: psycopg would note the text of every other statement


def _execute_unprepared(django: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any]) -> Any:
    cursor = django.cursor()
    cursor.execute(sql, parameters)
    return cursor
