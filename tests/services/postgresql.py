"""A throw-away PostgreSQL cluster on a free port of 127.0.0.1, as durable as a fresh installation makes it."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from tests.services.packages import program
from tests.services.processes import Process, free_port
from tests.services.server import Server

MAX_CONNECTIONS = 200
USER = "fieldpost"


class PostgreSQL(Server):
    """
    `start` and `stop` may be called again and again on the same data: fault tests do.

    fsync and synchronous_commit keep their defaults: the service under test promises "on disk" (docs/contract.md 5.3).
    """

    def __init__(self, parent: Path | None = None, *, host: str = "127.0.0.1") -> None:
        """
        `parent` is the directory that its own is made in, by default that of temporary files. It listens at `host`, and
        takes replicas from there.
        """
        super().__init__("postgresql", parent)
        self.host = host
        self.port = free_port()
        self.url = f"postgresql://{USER}@{host}:{self.port}/postgres"
        # PostgreSQL refuses to run as root, so root lends it Debian's own user.
        self.user = "postgres" if os.geteuid() == 0 else None
        self.data = self.directory / "data"

    def prepare(self) -> None:
        command: list[str | Path] = ["--pgdata", self.data, "--username", USER, "--auth", "trust"]
        self._fill("initdb", [*command, "--encoding", "UTF8", "--locale", "C.UTF-8"])

    def _take_clients_of_network(self) -> None:
        with (self.data / "pg_hba.conf").open("a") as access:
            access.write("host all all samenet trust\n")

    def _fill(self, name: str, arguments: list[str | Path]) -> None:
        """Run a program of PostgreSQL that makes `data`."""
        if self.user:
            shutil.chown(self.directory, self.user, self.user)
        result = subprocess.run(
            [program(name), *arguments],
            cwd=self.directory,
            user=self.user,
            group=self.user,
            extra_groups=[] if self.user else None,
            capture_output=True,
            text=True,
        )
        if result.returncode:
            raise RuntimeError(f"{name} failed:\n{result.stdout}{result.stderr}")

    def start(self) -> None:
        settings = {
            "listen_addresses": self.host,
            "port": self.port,
            "unix_socket_directories": "",
            "max_connections": MAX_CONNECTIONS,
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        log = self.directory / "log"
        self.process = Process(
            "PostgreSQL", [program("postgres"), "-D", self.data, *options], log=log, cwd=self.directory, user=self.user
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
        super().stop(number)


class Standby(PostgreSQL):
    """A replica of a running server, by streaming replication. It serves reads."""

    def __init__(self, primary: PostgreSQL) -> None:
        super().__init__(host=primary.host)
        self.primary_url = primary.url

    def prepare(self) -> None:
        where: list[str | Path] = ["--dbname", self.primary_url, "--pgdata", self.data]
        # `-R` writes standby.signal and primary_conninfo.
        self._fill("pg_basebackup", [*where, "--checkpoint", "fast", "--wal-method", "stream", "-R"])


class Base(PostgreSQL):
    """A copy of a running server, for a `Copied` of another network."""

    def __init__(self, primary: PostgreSQL) -> None:
        super().__init__()
        where: list[str | Path] = ["--dbname", primary.url, "--pgdata", self.data]
        self._fill("pg_basebackup", [*where, "--checkpoint", "fast", "--wal-method", "stream"])


class Copied(PostgreSQL):
    """A server over the data of a `Base`, at another address."""

    def __init__(self, data: Path, host: str) -> None:
        super().__init__(host=host)
        self.data = data

    def prepare(self) -> None:
        self._take_clients_of_network()


def create_database(server_url: str, name: str) -> str:
    """Create a fresh, empty database on that server and return its URL."""
    drop_database(server_url, name)
    _execute(server_url, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


def from_template(server_url: str, template: str, name: str) -> str:
    """Create a copy of a database that nobody is connected to, and return its URL."""
    # With the default strategy the sequences of the copy go back to the template's when the server recovers from a
    # crash (seen with 15.18), and inserts fail with ids that exist.
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
    statement = create.format(sql.Identifier(name), sql.Identifier(template))
    _execute(server_url, statement)
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


def drop_database(server_url: str, name: str) -> None:
    _execute(server_url, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _execute(server_url: str, statement: sql.Composed) -> None:
    with psycopg.connect(server_url, autocommit=True, connect_timeout=10) as connection:
        connection.execute(statement)
