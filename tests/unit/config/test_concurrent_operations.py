"""Indexes and constraints of large tables on PostgreSQL: without a lock on writers, and without leftovers."""

import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DatabaseError, connection, connections, models, transaction

from config.migration_operations.concurrently import (
    AddConstraintConcurrently,
    AddIndexConcurrently,
    AddWrittenIndexConcurrently,
    RemoveIndexConcurrently,
    RemoveWrittenIndexConcurrently,
)
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL
from tests.services.waiting import eventually
from tests.support.migrations.operations import run

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL  # on SQLite they are Django's own operations

pytestmark = pytest.mark.django_db(transaction=True)

INDEX = AddIndexConcurrently("submission", models.Index(fields=["released_at"], name="extra"))
CHECK = AddConstraintConcurrently(
    "submission", models.CheckConstraint(condition=~models.Q(search_text="no"), name="extra")
)
UNIQUE = AddConstraintConcurrently("submission", models.UniqueConstraint(fields=["id", "form"], name="extra"))
PARTIAL = AddConstraintConcurrently(
    "submission", models.UniqueConstraint(fields=["form"], condition=models.Q(spam=True), name="extra")
)
WRITTEN = AddWrittenIndexConcurrently("extra", "ON submissions_submission (released_at)")
EVERY = [INDEX, CHECK, UNIQUE, PARTIAL, WRITTEN]


def execute(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def found() -> list[str]:
    """Return the indexes and constraints named `extra`: `valid`, `invalid` or `constraint`."""
    indexes = execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('extra')")
    checked = execute("SELECT convalidated FROM pg_constraint WHERE conname = 'extra'")
    return ["valid" if valid else "invalid" for (valid,) in indexes] + ["constraint" for (ok,) in checked if ok]


@pytest.fixture(autouse=True)
def cleared() -> Iterator[None]:
    yield
    execute("ALTER TABLE submissions_submission DROP CONSTRAINT IF EXISTS extra")
    execute("DROP INDEX IF EXISTS extra")


@pytest.mark.parametrize(
    ("operation", "leaves"),
    [
        (INDEX, ["valid"]),
        (CHECK, ["constraint"]),
        (UNIQUE, ["valid", "constraint"]),
        (PARTIAL, ["valid"]),
        (WRITTEN, ["valid"]),
    ],
)
def test_operation__twice_and_back__is_made_once_and_removed(operation: Any, leaves: list[str]) -> None:
    """A migration that was stopped before it was recorded runs again."""
    run(operation)
    run(operation)
    assert found() == leaves
    run(operation, back=True)
    assert found() == []


def test_remove_written_index__and_back__drops_and_makes_it() -> None:
    operation = RemoveWrittenIndexConcurrently("extra", WRITTEN.definition)
    run(WRITTEN)
    run(operation)
    assert found() == []
    run(operation, back=True)
    assert found() == ["valid"]


def test_written_index__of_a_table_in_partitions__is_made_in_each_and_removed() -> None:
    """PostgreSQL refuses CONCURRENTLY for it."""
    execute("CREATE TABLE months (n int) PARTITION BY RANGE (n)")
    execute("CREATE TABLE month PARTITION OF months FOR VALUES FROM (1) TO (2)")
    operation = AddWrittenIndexConcurrently("extra", "ON months (n)")
    try:
        run(operation)
        run(operation)
        assert found() == ["valid"]
        assert execute("SELECT count(*) FROM pg_index WHERE indrelid = 'month'::regclass AND indisvalid") == [(1,)]
        run(operation, back=True)
        assert found() == []
    finally:
        execute("DROP TABLE months")


def test_index__left_invalid_by_a_killed_build__is_built_again() -> None:
    """PostgreSQL keeps such an index, updates it on every write, and never uses it."""
    run(INDEX)
    execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'extra'::regclass")
    assert found() == ["invalid"]
    run(INDEX)
    assert found() == ["valid"]


def test_index__whose_build_fails__leaves_nothing_behind() -> None:
    """A division by zero, as a unique index fails over duplicates."""
    statement = "INSERT INTO submissions_tally (form_id, hour, received) SELECT gen_random_uuid(), now(), 0"
    execute("ALTER TABLE submissions_tally DISABLE TRIGGER ALL")
    execute(statement)
    broken = AddIndexConcurrently("tally", models.Index(1 / models.F("received"), name="extra"))
    with pytest.raises(DatabaseError, match="division by zero"):
        run(broken)
    execute("DELETE FROM submissions_tally")
    execute("ALTER TABLE submissions_tally ENABLE TRIGGER ALL")
    assert found() == []


def test_remove_index__and_back__drops_and_makes_it() -> None:
    """The index of the spam page, there and back."""
    operation = RemoveIndexConcurrently("submission", "submission_spam_by_form")
    query = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('submission_spam_by_form')"
    run(operation)
    assert execute(query) == []
    run(operation, back=True)
    assert execute(query) == [(True,)]


@pytest.mark.parametrize("operation", [INDEX, UNIQUE, PARTIAL, WRITTEN])
def test_operation__while_a_writer_is_open__waits_for_it_and_blocks_no_other(operation: Any) -> None:
    """A plain CREATE INDEX would wait with a lock that stops the second writer."""
    write = "UPDATE submissions_submission SET spam = spam"
    with transaction.atomic():
        execute(write)
        builder = threading.Thread(target=in_thread, args=(operation,))
        builder.start()
        eventually(is_waiting)
        other = connection.copy("other")
        with other.cursor() as cursor:
            cursor.execute("SET lock_timeout = '2s'")
            cursor.execute(write)
        other.close()
    builder.join()
    assert "valid" in found()


def in_thread(operation: Any) -> None:
    try:
        run(operation)
    finally:
        connections.close_all()


def is_waiting() -> bool:
    """Return whether the build waits for the open transaction."""
    execute("SELECT pg_stat_clear_snapshot()")  # a transaction reads the statistics once
    query = "SELECT 1 FROM pg_stat_activity WHERE query ~ '^CREATE.*CONCURRENTLY' AND wait_event_type = 'Lock'"
    return bool(execute(query))
