"""One PostgreSQL and one migrated database of each kind for a whole run, because migrating takes seconds."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Self

from tests.services.backing import migrate, migrated_sqlite
from tests.services.environment import FILE_NAME, MIGRATED_VARIABLE, POSTGRESQL, SQLITE, service_environment
from tests.services.postgresql import PostgreSQL, create_database, from_template

TEMPLATE = "migrated"


class Migrated(PostgreSQL):
    """A server with a migrated database, TEMPLATE. Within a run of suites it is a copy of the first one's files."""

    def prepare(self) -> None:
        if not (place := os.environ.get(MIGRATED_VARIABLE)):
            super().prepare()
            return
        made = Path(place) / "postgresql"
        with (Path(place) / "postgresql-lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                with PostgreSQL() as first:
                    add_template(first)
                    first.stop()
                    subprocess.run(["cp", "--archive", first.data, f"{made}-copied"], check=True)
                Path(f"{made}-copied").rename(made)
        if self.user:
            shutil.chown(self.directory, self.user, self.user)
        subprocess.run(["cp", "--archive", made, self.data], check=True)


def add_template(server: PostgreSQL) -> None:
    url = create_database(server.url, TEMPLATE)
    with tempfile.TemporaryDirectory() as directory:
        migrate(service_environment(data_dir=Path(directory), backend=POSTGRESQL, database_url=url))


class Backing:
    """Makes migrated databases. The server and each template are made by their first use."""

    def __init__(self, directory: Path, disk: Path | None = None) -> None:
        """`disk` is the file system of PostgreSQL, by default that of temporary files."""
        self._directory = directory
        self._disk = disk
        self._stack = ExitStack()
        self._numbers = count(1)
        self._postgresql: PostgreSQL | None = None
        self._sqlite: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def postgresql(self) -> PostgreSQL:
        if self._postgresql is None:
            self._postgresql = self._stack.enter_context(Migrated(self._disk))
            if not os.environ.get(MIGRATED_VARIABLE):
                add_template(self._postgresql)
        return self._postgresql

    def new_postgresql(self) -> str:
        """Return the URL of a fresh database."""
        return from_template(self.postgresql.url, TEMPLATE, f"faults_{next(self._numbers)}")

    def new_sqlite(self, path: Path) -> None:
        """Make a fresh database at this path."""
        if self._sqlite is None and (made := migrated_sqlite()):
            self._sqlite = made
        if self._sqlite is None:
            data_dir = self._directory / "migrated"
            data_dir.mkdir()
            migrate(service_environment(data_dir=data_dir, backend=SQLITE))
            self._sqlite = data_dir / FILE_NAME
        shutil.copy(self._sqlite, path)
