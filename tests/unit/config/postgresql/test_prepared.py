"""Prepared statements of the hot path outlive migrations, poolers and broken connections (docs/adr/0099)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import DataError, NotSupportedError, OperationalError
from django.db import connection as django_connection
from django.db.utils import ConnectionHandler

from config.base import database
from config.base.database import execute_prepared, is_away
from config.settings import databases
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL

SELECT = "SELECT id, name FROM prepared_rows WHERE id = %s"
INSERT = "INSERT INTO prepared_rows (id, name) VALUES (%s, %s)"


@pytest.fixture
def kept(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:  # noqa: ARG001  # pytest-django's
    """Yield a connection of our settings, with a table of one row."""
    handler = ConnectionHandler(databases(settings.DATABASE_URL))
    monkeypatch.setattr(database, "connections", handler)
    connection: Any = handler["default"]
    run(connection, "CREATE TABLE prepared_rows (id integer, name varchar(10))")
    try:
        execute_prepared(INSERT, [1, "first"])
        yield connection
    finally:
        connection.close()
        run(connection, "DROP TABLE prepared_rows")
        connection.close()


def run(connection: Any, sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone() if cursor.description else None


def row() -> Any:
    return execute_prepared(SELECT, [1]).fetchone()


def count(connection: Any) -> Any:
    return run(connection, "SELECT count(*) FROM pg_prepared_statements")[0]


def test_statement__run_again__is_prepared_once(kept: Any) -> None:
    assert [row(), row(), row()] == [(1, "first")] * 3
    assert count(kept) == 2  # and INSERT


def test_statement__whose_table_a_migration_changed__is_prepared_again(kept: Any) -> None:
    """PostgreSQL: "cached plan must not change result type"."""
    row()
    run(kept, "ALTER TABLE prepared_rows ALTER COLUMN name TYPE text")
    assert row() == (1, "first")


def test_statement__whose_table_changed_in_a_transaction__fails_and_works_after_it(kept: Any) -> None:
    row()
    run(kept, "ALTER TABLE prepared_rows ALTER COLUMN name TYPE text")
    with pytest.raises(NotSupportedError), atomic(kept):
        row()
    assert row() == (1, "first")


def test_statement__that_a_pooler_lost__is_prepared_again(kept: Any) -> None:
    row()
    run(kept, "DEALLOCATE ALL")
    assert row() == (1, "first")


def test_statement__on_a_broken_connection__fails_as_unavailable_and_works_on_the_next(kept: Any) -> None:
    row()
    pid = kept.connection.info.backend_pid
    run(django_connection, f"SELECT pg_terminate_backend({pid})")
    with pytest.raises(OperationalError) as failed:
        row()
    assert is_away(failed.value)
    kept.close()
    assert row() == (1, "first")


def test_statement__in_a_transaction_that_is_rolled_back__is_not_stored(kept: Any) -> None:
    with atomic(kept):
        execute_prepared(INSERT, [2, "second"])
    assert run(kept, "SELECT count(*) FROM prepared_rows") == (1,)
    assert row() == (1, "first")


def test_statement__with_a_value_that_cannot_be_stored__raises_djangos_error(kept: Any) -> None:
    with pytest.raises(DataError):
        execute_prepared(INSERT, [2, "longer than ten characters"])
    with pytest.raises(DataError):
        execute_prepared(INSERT, [2, "NUL \0"])
    assert run(kept, "SELECT count(*) FROM prepared_rows") == (1,)


def test_statement__while_statements_are_reported__is_reported(kept: Any) -> None:
    seen: list[str] = []

    def note(execute: Any, sql: str, *arguments: Any) -> Any:
        seen.append(sql)
        return execute(sql, *arguments)

    with kept.execute_wrapper(note):
        assert row() == (1, "first")
    assert seen == [SELECT]


@contextmanager
def atomic(connection: Any) -> Iterator[None]:
    """Run the block in a transaction and roll it back; `transaction.atomic` knows only Django's own connections."""
    connection.set_autocommit(False)
    connection.in_atomic_block = True
    try:
        yield
    finally:
        connection.in_atomic_block = False
        connection.rollback()
        connection.set_autocommit(True)
