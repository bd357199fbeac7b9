"""
Statements that a connection of the pool prepares on their first use: PostgreSQL parses and plans them once.

For the two statements of `/api/submit` (docs/adr/0099). They run on psycopg's own cursor, with parameters bound by the
server; Django's cursor writes them into the text of the statement, in Python. Both together took a third of the time
here, and PostgreSQL half of its own. `DATABASE_PREPARED_STATEMENTS=false` is for poolers that lose prepared statements.
"""

from collections.abc import Sequence
from typing import Any, LiteralString, cast

import psycopg
from django.conf import settings
from django.db import connection
from psycopg.errors import FeatureNotSupported, InvalidSqlStatementName

from config.postgresql.watched import WatchedConnection

# After a migration the result has other columns; a pooler or an operator has removed the statement.
OUTDATED = (FeatureNotSupported, InvalidSqlStatementName)


def is_prepared() -> bool:
    """
    Return whether `run` may be used now: over the pool of a web process, and not while Django reports statements.

    The connection is opened if it is not.
    """
    if not settings.DATABASE_PREPARED_STATEMENTS or connection.vendor != "postgresql":
        return False
    connection.ensure_connection()
    is_reported = connection.execute_wrappers or connection.queries_logged
    return isinstance(connection.connection, WatchedConnection) and not is_reported


def run(sql: str, parameters: Sequence[Any]) -> psycopg.Cursor[Any]:
    """
    Run a statement and return its cursor, which is valid until the connection runs the same text again.

    Raises Django's errors. Outside a transaction an outdated statement is tried again over a new connection.
    """
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors:
        try:
            return _execute(connection.connection, sql, parameters)
        except OUTDATED:
            if connection.in_atomic_block:
                raise
            connection.connection.close()
    connection.close()
    connection.ensure_connection()
    with connection.wrap_database_errors:
        return _execute(connection.connection, sql, parameters)


def _execute(raw: WatchedConnection, sql: str, parameters: Sequence[Any]) -> psycopg.Cursor[Any]:
    cursor = raw.cursors.get(sql)
    if cursor is None:
        cursor = raw.cursors[sql] = psycopg.Cursor(raw)  # kept: making one takes a fifth of the time of its statement
    raw.prepare_threshold = 0
    try:
        return cursor.execute(cast(LiteralString, sql), parameters, prepare=True)  # the same object: psycopg compares
    finally:
        raw.prepare_threshold = None  # as Django has it: psycopg would note the text of every other statement
