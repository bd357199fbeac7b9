"""A throw-away PostgreSQL cluster on a free port of 127.0.0.1, as durable as a fresh installation makes it."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from tests.services.packages import postgresql_program
from tests.services.processes import Process, free_port

MAX_CONNECTIONS = 200
USER = "fieldpost"


class PostgreSQL:
    """
    `start` and `stop` may be called again and again on the same data: fault tests do.

    fsync and synchronous_commit keep their defaults: the service under test promises "on disk" (docs/contract.md 5.3).
    """

    def __init__(self, parent: Path | None = None) -> None:
        """`parent` is the directory that its own is made in, by default that of temporary files."""
        self.port = free_port()
        self.url = f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"
        # PostgreSQL refuses to run as root, so root lends it Debian's own user.
        self.user = "postgres" if os.geteuid() == 0 else None
        self.directory = Path(tempfile.mkdtemp(prefix="fieldpost-postgresql-", dir=parent))
        self.data = self.directory / "data"
        self.process: Process | None = None

    def __enter__(self) -> Self:
        try:
            self._create()
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()

    def _create(self) -> None:
        if self.user:
            shutil.chown(self.directory, self.user, self.user)
        program = postgresql_program("initdb")
        if program is None:
            raise RuntimeError("PostgreSQL's initdb is missing")
        command: list[str | Path] = [program, "--pgdata", self.data, "--username", USER, "--auth", "trust"]
        result = subprocess.run(
            [*command, "--encoding", "UTF8", "--locale", "C.UTF-8"],
            cwd=self.directory,
            user=self.user,
            group=self.user,
            extra_groups=[] if self.user else None,
            capture_output=True,
            text=True,
        )
        if result.returncode:
            raise RuntimeError(f"initdb failed:\n{result.stdout}{result.stderr}")

    def start(self) -> None:
        program = postgresql_program("postgres")
        if program is None:
            raise RuntimeError("PostgreSQL's postgres is missing")
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "max_connections": MAX_CONNECTIONS,
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        log = self.directory / "log"
        self.process = Process(
            "PostgreSQL", [program, "-D", self.data, *options], log=log, cwd=self.directory, user=self.user
        )
        self.process.wait_until(self._answers)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT is the fast shutdown, SIGQUIT the immediate one; the next start recovers from the log."""
        if self.process:
            self.process.stop(number)
            self.process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def create_database(server_url: str, name: str) -> str:
    """Create a fresh, empty database on that server and return its URL."""
    drop_database(server_url, name)
    _execute(server_url, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


def from_template(server_url: str, template: str, name: str) -> str:
    """Create a copy of a database that nobody is connected to, and return its URL."""
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    _execute(server_url, statement)
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


def drop_database(server_url: str, name: str) -> None:
    _execute(server_url, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _execute(server_url: str, statement: sql.Composed) -> None:
    with psycopg.connect(server_url, autocommit=True, connect_timeout=10) as connection:
        connection.execute(statement)
