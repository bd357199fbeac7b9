"""
Indexes and constraints of large tables, made while the service writes to them.

On PostgreSQL without a lock that blocks writers; on SQLite, which has one writer anyway, as Django does it. Their
migration needs `atomic = False`. Each can be run again: it skips a finished index and drops an invalid one, which an
interrupted build leaves behind.

PostgreSQL refuses CONCURRENTLY for a table in partitions (docs/scaling.md). There the index blocks writers, unless the
operator has made it before.
https://www.postgresql.org/docs/current/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import AddConstraint, AddIndex, RemoveIndex
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import CheckConstraint, UniqueConstraint
from django.db.utils import NotSupportedError

_STATE_OF_INDEX = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(quote_ident(%s))"
_CONSTRAINT_EXISTS = "SELECT convalidated FROM pg_constraint WHERE conname = %s AND conrelid = to_regclass(%s)"


class AddIndexConcurrently(AddIndex):
    """Make an index without blocking writers."""

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        statement = self.index.create_sql(model, schema_editor, concurrently=True)
        _build_index(schema_editor, self.index.name, str(statement))

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
            return
        _drop_index(schema_editor, self.index.name)


class RemoveIndexConcurrently(RemoveIndex):
    """Drop an index without blocking readers and writers."""

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        _drop_index(schema_editor, self.name)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
            return
        index = to_state.models[app_label, self.model_name_lower].get_index_by_name(self.name)
        model = to_state.apps.get_model(app_label, self.model_name)
        _build_index(schema_editor, self.name, str(index.create_sql(model, schema_editor, concurrently=True)))


class AddWrittenIndexConcurrently(Operation):
    """
    Make an index that Django cannot express, on PostgreSQL only.

    `definition`: its SQL from `ON` to the end. The name needs no quotes.
    """

    atomic = False

    def __init__(self, name: str, definition: str) -> None:
        self.name = name
        self.definition = definition

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Leave the state as it is: no model knows the index."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:  # noqa: ARG002 - Django's signature
        if schema_editor.connection.vendor == "postgresql":
            _build_index(schema_editor, self.name, f"CREATE INDEX CONCURRENTLY {self.name} {self.definition}")

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:  # noqa: ARG002 - Django's signature
        if schema_editor.connection.vendor == "postgresql":
            _drop_index(schema_editor, self.name)

    def describe(self) -> str:
        return f"Make the index {self.name} concurrently"


class RemoveWrittenIndexConcurrently(AddWrittenIndexConcurrently):
    """Drop such an index; `definition` makes it again."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        super().database_backwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        super().database_forwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"Drop the index {self.name} concurrently"


class AddConstraintConcurrently(AddConstraint):
    """
    Add a CHECK or UNIQUE constraint without blocking writers.

    A CHECK holds for new rows immediately, and the present rows are read afterwards; a UNIQUE gets its index first.
    """

    atomic = False

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Add the constraint. Raises NotSupportedError for one of another kind."""
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        if isinstance(self.constraint, CheckConstraint):
            _add_check(schema_editor, model, self.constraint)
        elif isinstance(self.constraint, UniqueConstraint):
            _add_unique(schema_editor, model, self.constraint)
        else:
            raise NotSupportedError(f"{type(self.constraint).__name__} cannot be added concurrently.")


def _add_check(editor: Any, model: Any, constraint: CheckConstraint) -> None:
    table, name = editor.quote_name(model._meta.db_table), editor.quote_name(constraint.name)
    found = _one(editor, _CONSTRAINT_EXISTS, constraint.name, table)
    if found is None:
        editor.execute(f"{constraint.create_sql(model, editor)} NOT VALID", params=None)
    if not found:  # reads every row, with a lock that only other changes of the schema wait for
        with _patient(editor):
            editor.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}")


def _add_unique(editor: Any, model: Any, constraint: UniqueConstraint) -> None:
    table, name = editor.quote_name(model._meta.db_table), editor.quote_name(constraint.name)
    if _one(editor, _CONSTRAINT_EXISTS, constraint.name, table):
        return
    statement: Any = constraint.create_sql(model, editor)
    is_index = statement.template.startswith("CREATE UNIQUE INDEX")  # with a condition or expressions
    if not is_index:
        statement.template = "CREATE UNIQUE INDEX %(name)s ON %(table)s (%(columns)s)%(nulls_distinct)s"
    text = str(statement).replace("CREATE UNIQUE INDEX", "CREATE UNIQUE INDEX CONCURRENTLY", 1)
    _build_index(editor, constraint.name, text)
    if not is_index:
        editor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} UNIQUE USING INDEX {name}")


def _build_index(editor: Any, name: str, statement: str) -> None:
    """Execute a CREATE INDEX CONCURRENTLY, unless the index is there. A failed one leaves nothing behind."""
    if editor.connection.in_atomic_block:
        raise NotSupportedError(f"The index {name} cannot be built in a transaction: set atomic = False.")
    is_valid = _one(editor, _STATE_OF_INDEX, name)
    if is_valid:
        return
    if is_valid is False:
        _drop_index(editor, name)
    try:
        _execute(editor, statement)
    except BaseException:
        _drop_index(editor, name)
        raise


def _drop_index(editor: Any, name: str) -> None:
    _execute(editor, f"DROP INDEX CONCURRENTLY IF EXISTS {editor.quote_name(name)}")


def _execute(editor: Any, statement: str) -> None:
    """Execute a CREATE or DROP INDEX CONCURRENTLY; without CONCURRENTLY, if the table has partitions."""
    try:
        with _patient(editor):
            editor.execute(statement, params=None)
    except NotSupportedError:
        editor.execute(statement.replace(" CONCURRENTLY", "", 1), params=None)


@contextmanager
def _patient(editor: Any) -> Iterator[None]:
    """
    Lift the lock timeout meanwhile.

    These statements wait for every open transaction, such as a long export, and block nobody while they do.
    """
    before = _one(editor, "SELECT current_setting('lock_timeout')")
    editor.execute("SET lock_timeout = 0")
    try:
        yield
    finally:
        editor.execute("SELECT set_config('lock_timeout', %s, false)", [before])


def _one(editor: Any, query: str, *parameters: str) -> Any:
    """Return the first column of the first row, or None."""
    with editor.connection.cursor() as cursor:
        cursor.execute(query, parameters)
        row = cursor.fetchone()
    return row[0] if row else None
