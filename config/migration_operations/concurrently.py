"""
Indexes and constraints of large tables, made while the service writes to them.

On PostgreSQL without a lock that blocks writers; on SQLite, which has one writer anyway, as Django does it. Their
migration needs `atomic = False`. Each can be run again: it skips a finished index and drops an invalid one, which an
interrupted build leaves behind. So they are not those of `django.contrib.postgres.operations`.

PostgreSQL refuses CONCURRENTLY for a table in partitions (docs/scaling.md). There the index blocks writers, unless the
operator has made it before.
https://www.postgresql.org/docs/current/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.migrations.operations import AddConstraint, AddIndex, RemoveIndex
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import BaseConstraint, CheckConstraint, Index, UniqueConstraint
from django.db.utils import NotSupportedError

_STATE_OF_INDEX = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(quote_ident(%s))"
_CONSTRAINT_EXISTS = "SELECT convalidated FROM pg_constraint WHERE conname = %s AND conrelid = to_regclass(%s)"


class _Concurrent(Operation):
    """An operation of Django's that gets a ConcurrentEditor on PostgreSQL."""

    atomic = False

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        super().database_forwards(app_label, _concurrent(schema_editor), from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        super().database_backwards(app_label, _concurrent(schema_editor), from_state, to_state)


class AddIndexConcurrently(_Concurrent, AddIndex):
    """Make an index without blocking writers."""


class RemoveIndexConcurrently(_Concurrent, RemoveIndex):
    """Drop an index without blocking readers and writers."""


class AddConstraintConcurrently(_Concurrent, AddConstraint):
    """
    Add a CHECK or UNIQUE constraint without blocking writers.

    A CHECK holds for new rows immediately, and the present rows are read afterwards; a UNIQUE gets its index first.
    """


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
            statement = f"CREATE INDEX CONCURRENTLY {self.name} {self.definition}"
            ConcurrentEditor(schema_editor).build_index(self.name, statement)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:  # noqa: ARG002 - Django's signature
        if schema_editor.connection.vendor == "postgresql":
            ConcurrentEditor(schema_editor).drop_index(self.name)

    def describe(self) -> str:
        return f"Make the index {self.name} concurrently"


class RemoveWrittenIndexConcurrently(AddWrittenIndexConcurrently):
    """Drop such an index; `definition` makes it again."""

    database_forwards = AddWrittenIndexConcurrently.database_backwards
    database_backwards = AddWrittenIndexConcurrently.database_forwards

    def describe(self) -> str:
        return f"Drop the index {self.name} concurrently"


def _concurrent(editor: Any) -> Any:
    return ConcurrentEditor(editor) if editor.connection.vendor == "postgresql" else editor


class ConcurrentEditor:
    """PostgreSQL's schema editor, which makes and drops indexes and constraints without blocking writers."""

    def __init__(self, editor: Any) -> None:
        self._editor = editor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._editor, name)

    def add_index(self, model: Any, index: Index) -> None:
        self.build_index(index.name, str(index.create_sql(model, self._editor, concurrently=True)))

    def remove_index(self, _model: Any, index: Index) -> None:
        self.drop_index(index.name)

    def add_constraint(self, model: Any, constraint: BaseConstraint) -> None:
        """Add a constraint. Raises NotSupportedError for one that is neither CHECK nor UNIQUE."""
        table, name = self.quote_name(model._meta.db_table), self.quote_name(constraint.name)
        is_valid = self._one(_CONSTRAINT_EXISTS, constraint.name, table)
        if isinstance(constraint, CheckConstraint):
            if is_valid is None:
                self.execute(f"{constraint.create_sql(model, self._editor)} NOT VALID", params=None)
            if not is_valid:  # reads every row, with a lock that only other changes of the schema wait for
                with self._patient():
                    self.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}")
        elif not isinstance(constraint, UniqueConstraint):
            raise NotSupportedError(f"{type(constraint).__name__} cannot be added concurrently.")
        elif not is_valid:
            self._add_unique(model, constraint, f"ALTER TABLE {table} ADD CONSTRAINT {name} UNIQUE USING INDEX {name}")

    def _add_unique(self, model: Any, constraint: UniqueConstraint, use_index: str) -> None:
        statement: Any = constraint.create_sql(model, self._editor)
        is_index = statement.template.startswith("CREATE UNIQUE INDEX")  # with a condition or expressions
        if not is_index:
            statement.template = "CREATE UNIQUE INDEX %(name)s ON %(table)s (%(columns)s)%(nulls_distinct)s"
        text = str(statement).replace("CREATE UNIQUE INDEX", "CREATE UNIQUE INDEX CONCURRENTLY", 1)
        self.build_index(constraint.name, text)
        if not is_index:
            self.execute(use_index)

    def build_index(self, name: str, statement: str) -> None:
        """Execute a CREATE INDEX CONCURRENTLY, unless the index is there. A failed one leaves nothing behind."""
        if self.connection.in_atomic_block:
            raise NotSupportedError(f"The index {name} cannot be built in a transaction: set atomic = False.")
        is_valid = self._one(_STATE_OF_INDEX, name)
        if is_valid:
            return
        if is_valid is False:
            self.drop_index(name)
        try:
            self._execute_patiently(statement)
        except BaseException:
            self.drop_index(name)
            raise

    def drop_index(self, name: str) -> None:
        self._execute_patiently(f"DROP INDEX CONCURRENTLY IF EXISTS {self.quote_name(name)}")

    def _execute_patiently(self, statement: str) -> None:
        """Execute a CREATE or DROP INDEX CONCURRENTLY; without CONCURRENTLY, if the table has partitions."""
        try:
            with self._patient():
                self.execute(statement, params=None)
        except NotSupportedError:
            self.execute(statement.replace(" CONCURRENTLY", "", 1), params=None)

    @contextmanager
    def _patient(self) -> Iterator[None]:
        """
        Lift the lock timeout meanwhile.

        These statements wait for every open transaction, such as a long export, and block nobody while they do.
        """
        before = self._one("SELECT current_setting('lock_timeout')")
        self.execute("SET lock_timeout = 0")
        try:
            yield
        finally:
            self.execute("SELECT set_config('lock_timeout', %s, false)", [before])

    def _one(self, query: str, *parameters: str) -> Any:
        """Return the first column of the first row, or None."""
        with self.connection.cursor() as cursor:
            cursor.execute(query, parameters)
            row = cursor.fetchone()
        return row[0] if row else None
