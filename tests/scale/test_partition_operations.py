"""Operations of migrations on a table in partitions: indexes of each partition and of the whole, constraints."""

import pytest
from django.core.management import call_command
from django.db import DatabaseError, NotSupportedError, connection, models

from config.ids import made_at
from config.migration_operations.concurrently import (
    AddConstraintConcurrently,
    AddIndexConcurrently,
    RemoveIndexConcurrently,
)
from submissions.partitions.catalog import partitions
from submissions.partitions.conversion import partition_table
from tests.scale.failing import failing_at
from tests.support.migrations.operations import run
from tests.support.rows import put
from tests.support.tenants import make_tenant


@pytest.fixture(scope="module", autouse=True)
def partitioned(own_database: str) -> None:  # noqa: ARG001  # this process uses it
    """Partition the submissions of this module's database. A row in the second partition fails a broken index."""
    partition_table(lambda _line: None)
    second = partitions()[1].first
    assert second is not None
    tenant = make_tenant()
    put(tenant, tenant.default_form_id, {"text": "Hello"}, made_at(second))


def extra() -> list[tuple[str, bool]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, indisvalid FROM pg_index JOIN pg_class c ON c.oid = indexrelid "
            "WHERE starts_with(c.relname, 'extra') ORDER BY 1"
        )
        return list(cursor.fetchall())


INDEX = AddIndexConcurrently("submission", models.Index(fields=["released_at"], name="extra"))


def test_index__added_to_partitions_twice_and_back__is_made_once_and_removed() -> None:
    run(INDEX)
    run(INDEX)
    made = extra()
    assert made[0] == ("extra", True)
    assert len(made) == 1 + len(partitions())
    assert all(is_valid for _, is_valid in made)
    run(INDEX, back=True)
    assert extra() == []
    broken = AddIndexConcurrently("submission", models.Index(1 / models.F("files_size"), name="extra"))
    with pytest.raises(DatabaseError, match="division by zero"):
        run(broken)
    assert extra() == []


def test_index__of_an_interrupted_build__is_finished_by_the_next() -> None:
    with failing_at("ATTACH PARTITION"), pytest.raises(KeyboardInterrupt):
        run(INDEX)
    assert extra() == []
    with connection.cursor() as cursor:  # a kill leaves no time to clean up
        cursor.execute("CREATE INDEX extra ON ONLY submissions_submission (released_at)")
    assert extra() == [("extra", False)]
    run(INDEX)
    assert len(extra()) == 1 + len(partitions())
    assert all(is_valid for _, is_valid in extra())
    run(RemoveIndexConcurrently("submission", "extra"))
    assert extra() == []


def test_constraints__added_to_partitions__are_a_check_but_no_unique_one() -> None:
    condition = ~models.Q(search_text="no")
    run(AddConstraintConcurrently("submission", models.CheckConstraint(condition=condition, name="extra")))
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT convalidated FROM pg_constraint WHERE conname = 'extra'")
        assert cursor.fetchall() == [(True,)]
        cursor.execute("ALTER TABLE submissions_submission DROP CONSTRAINT extra")
    unique = AddConstraintConcurrently("submission", models.UniqueConstraint(fields=["id", "form"], name="extra"))
    with pytest.raises(NotSupportedError, match="has partitions"):
        run(unique)


def storage_parameters() -> list[str | None]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT array_to_string(reloptions, ' ') FROM pg_class WHERE oid = ANY(%s::regclass[]::oid[])",
            [[one.name for one in partitions()]],
        )
        return [parameters for (parameters,) in cursor.fetchall()]


def test_migration_of_storage_parameters__back_and_forth_on_partitions__changes_each_of_them() -> None:
    assert storage_parameters() == ["autovacuum_vacuum_scale_factor=0.05"]
    try:
        call_command("migrate", "submissions", "0013", verbosity=0)
        assert storage_parameters() == [None]
    finally:
        call_command("migrate", "submissions", verbosity=0)
    assert storage_parameters() == ["autovacuum_vacuum_scale_factor=0.05"]
