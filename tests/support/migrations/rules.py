"""Rules for migrations that run while code of the release before still serves."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.migrations import Migration, operations
from django.db.migrations.operations.base import Operation

from config.migration_operations.concurrently import (
    AddConstraintConcurrently,
    AddIndexConcurrently,
    AddWrittenIndexConcurrently,
    RemoveIndexConcurrently,
)

# Code of the release before cannot run beside these: docs/running.md asks for a standstill.
STANDSTILLS = {("webhooks", "0019_one_receiver")}
# The last migrations made before these rules.
FREEZE = {"keys": 5, "forms_app": 3, "submissions": 3, "webhooks": 3}
LARGE = {
    ("submissions", name) for name in ("submission", "idempotencykey", "tally", "refusal")
} | {("webhooks", name) for name in ("delivery", "attempt", "message")}  # fmt: skip
CONCURRENT = (
    AddIndexConcurrently,
    AddWrittenIndexConcurrently,
    RemoveIndexConcurrently,
    AddConstraintConcurrently,
)
BLOCKING = (operations.AddIndex, operations.RemoveIndex, operations.AddConstraint)
BREAKING = (
    operations.RemoveField,
    operations.RenameField,
    operations.DeleteModel,
    operations.RenameModel,
    operations.AlterModelTable,
)


def is_new(migration: Migration) -> bool:
    """Return whether the rules apply: it is ours and was made after them."""
    is_ours = migration.app_label in FREEZE and (migration.app_label, migration.name) not in STANDSTILLS
    return is_ours and int(migration.name[:4]) > FREEZE[migration.app_label]


def violations(migration: Migration) -> list[str]:
    """Return a sentence for each operation that would hurt the running service."""
    new_models = {
        operation.name_lower for operation in migration.operations if isinstance(operation, operations.CreateModel)
    }
    return [
        f"{migration.app_label}.{migration.name}: {sentence}"
        for operation in _flat(migration.operations)
        if getattr(operation, "model_name_lower", "") not in new_models
        for sentence in _of(migration, operation)
    ]


def _flat(found: Sequence[Operation]) -> Iterator[Operation]:
    for operation in found:
        if isinstance(operation, operations.SeparateDatabaseAndState):
            yield from _flat(operation.database_operations)
        else:
            yield operation


def _of(migration: Migration, operation: Operation) -> Iterator[str]:
    large = (migration.app_label, getattr(operation, "model_name_lower", "")) in LARGE
    if isinstance(operation, BREAKING):
        yield f"{operation.describe()}: older code still reads it; drop it one release after the code"
    if isinstance(operation, operations.AddField):
        field: Any = operation.field
        if not field.many_to_many and not field.null and not field.has_db_default():
            yield f"the new column {operation.name} needs db_default or null=True"
        if large and (field.db_index or field.unique):
            yield f"{operation.name} indexes a large table: add it with db_index=False, and its index concurrently"
    if large and isinstance(operation, BLOCKING) and not isinstance(operation, CONCURRENT):
        yield f"{operation.describe()}: use config.migration_operations.concurrently"
    if isinstance(operation, CONCURRENT) and migration.atomic:
        yield f"{operation.describe()}: set atomic = False"
