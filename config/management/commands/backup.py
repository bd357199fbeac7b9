"""`backup FILE`: a consistent copy of the SQLite database, while the service runs."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

NOT_SQLITE = "The database is PostgreSQL: use pg_dump and pg_restore, see docs/running.md."


class Command(BaseCommand):
    help = "Copy the SQLite database to a new file, which only its owner may read. The service may run."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="must not exist")

    def handle(self, *args: Any, **options: Any) -> None:
        if connection.vendor != "sqlite":
            raise CommandError(NOT_SQLITE)
        path: Path = options["file"]
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # it holds secrets
        except OSError as error:
            raise CommandError(f"Cannot write {path}: {error.strerror}. Choose a new file.") from None
        connection.ensure_connection()
        with closing(sqlite3.connect(path)) as copy:
            connection.connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file: to read it then makes no `-wal` next to it
        if problem := problem_of(path):
            raise CommandError(f"The copy is not usable: {problem}")
        self.stdout.write(f"{path}: {path.stat().st_size} bytes")


def problem_of(path: Path) -> str:
    """Return why a file is not a database of this service, or an empty string."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            (state,) = database.execute("PRAGMA quick_check(1)").fetchone()
            database.execute("SELECT 1 FROM django_migrations LIMIT 1")
    except sqlite3.Error as error:
        return str(error)
    return "" if state == "ok" else str(state)
