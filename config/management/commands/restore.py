"""`restore FILE`: put a backup of the SQLite database in place."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, connections

from config.management.commands.backup import NOT_SQLITE, problem_of

BUSY_SECONDS = 5.0


class Command(BaseCommand):
    help = "Replace the SQLite database by a backup. Stop the service first, and run `migrate` after it."
    requires_system_checks = []  # without DATABASE_URL it makes the file that they miss

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="made by `backup`")
        parser.add_argument("--replace", action="store_true", help="the present database is lost")

    def handle(self, *args: Any, **options: Any) -> None:
        """
        Write the backup's pages into the database, in one transaction of SQLite.

        Not a copy of the file: with the `-wal` of the former database next to it, SQLite would mix the two.
        """
        if connection.vendor != "sqlite":
            raise CommandError(NOT_SQLITE)
        backup, path = options["file"], Path(connection.settings_dict["NAME"])
        if problem := problem_of(backup):
            raise CommandError(f"{backup} is not a backup of this service: {problem}")
        if path.exists() and path.stat().st_size and not options["replace"]:
            raise CommandError(f"There is a database: {path}. Add --replace to lose it.")
        connections.close_all()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        if not os.geteuid():  # the service is another user, to whom the folder belongs
            folder = path.parent.stat()
            os.chown(path, folder.st_uid, folder.st_gid)
        with closing(sqlite3.connect(path, isolation_level=None)) as target:
            refuse_open_database(target, path)
            with closing(sqlite3.connect(f"{backup.resolve().as_uri()}?mode=ro", uri=True)) as source:
                source.backup(target)
        self.stdout.write(f"Restored {path}. Now run `manage.py migrate`.")


def refuse_open_database(target: sqlite3.Connection, path: Path) -> None:
    """Raise CommandError while another process has the database open: it would go on with pages in its memory."""
    target.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    target.execute("PRAGMA locking_mode = EXCLUSIVE")
    try:
        target.execute("BEGIN EXCLUSIVE")
        target.execute("COMMIT")
    except sqlite3.OperationalError:
        raise CommandError(f"{path} is in use. Stop the service first.") from None
