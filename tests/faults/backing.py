"""One PostgreSQL and one migrated database of each kind for a whole run, because migrating takes seconds."""

import shutil
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Self

from tests.services.backing import FILE_NAME, migrate, migrated_sqlite
from tests.services.environment import POSTGRESQL, SQLITE, service_environment
from tests.services.postgresql import PostgreSQL, create_database, from_template

TEMPLATE = "migrated"


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
            self._postgresql = self._stack.enter_context(PostgreSQL(self._disk))
            url = create_database(self._postgresql.url, TEMPLATE)
            migrate(service_environment(data_dir=self._directory, backend=POSTGRESQL, database_url=url))
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
