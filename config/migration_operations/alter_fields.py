"""Alter several fields of a model together: one copy of the table on SQLite, one short lock on PostgreSQL."""

from collections.abc import Sequence
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import Field


class AlterFields(Operation):
    """
    `AlterField` for each `(name, field)`. The columns keep their names and types.

    Its transaction is its own where the migration has `atomic = False`, so that a migration of several tables never
    waits for one while it locks another.
    """

    atomic = True

    def __init__(self, model_name: str, fields: Sequence[tuple[str, "Field[Any, Any]"]]) -> None:
        self.model_name = model_name
        self.fields = list(fields)

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        for name, field in self.fields:
            state.alter_field(app_label, self.model_name.lower(), name, field, preserve_default=True)

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        old = from_state.apps.get_model(app_label, self.model_name)
        new = to_state.apps.get_model(app_label, self.model_name)
        pairs = [(old._meta.get_field(name), new._meta.get_field(name)) for name, _field in self.fields]
        if schema_editor.connection.vendor == "sqlite":
            editor: Any = schema_editor
            editor._remake_table(old, alter_fields=pairs)
            return
        for before, after in pairs:
            schema_editor.alter_field(old, before, after)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        self.database_forwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"Alter {', '.join(name for name, _field in self.fields)} of {self.model_name}"
