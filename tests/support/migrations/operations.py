"""Operations of migrations, run by themselves."""

from typing import Any

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState


def run(operation: Any, *, back: bool = False) -> None:
    """Run an operation on submissions as a migration with `atomic = False` does."""
    before = MigrationLoader(connection).project_state()
    after: ProjectState = before.clone()
    operation.state_forwards("submissions", after)
    with connection.schema_editor(atomic=False) as editor:
        if back:
            operation.database_backwards("submissions", editor, after, before)
        else:
            operation.database_forwards("submissions", editor, before, after)
