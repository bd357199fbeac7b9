"""PgBouncer in transaction mode on a free port of 127.0.0.1, in front of a PostgreSQL."""

import os
import shutil
import signal
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.services.packages import program
from tests.services.processes import Process, free_port
from tests.services.server import Server

MAX_CLIENTS = 400


class PgBouncer(Server):
    """
    Serves every database of a server through `server_connections` sessions of each.

    Its other settings are Debian's: it refuses what a pooler in transaction mode cannot keep.
    """

    def __init__(self, postgresql_url: str, *, server_connections: int) -> None:
        super().__init__("pgbouncer")
        self.server = urlsplit(postgresql_url)
        self.server_connections = server_connections
        self.port = free_port()
        self.user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
        self.url = self.of(postgresql_url)

    def of(self, url: str) -> str:
        """Return the URL of a database of that server, through the pooler."""
        parts = urlsplit(url)
        return urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{self.port}"))

    def prepare(self) -> None:
        users = self.directory / "users.txt"
        users.write_text(f'"{self.server.username}" ""\n')
        lines = [
            "[databases]",
            f"* = host={self.server.hostname} port={self.server.port}",
            "[pgbouncer]",
            "listen_addr = 127.0.0.1",
            f"listen_port = {self.port}",
            "unix_socket_dir =",
            "auth_type = trust",
            f"auth_file = {users}",
            f"admin_users = {self.server.username}",
            "pool_mode = transaction",
            f"default_pool_size = {self.server_connections}",
            f"max_client_conn = {MAX_CLIENTS}",
        ]
        (self.directory / "pgbouncer.ini").write_text("\n".join([*lines, ""]))
        if self.user:
            for path in (self.directory, *self.directory.iterdir()):
                shutil.chown(path, self.user, self.user)

    def start(self) -> None:
        command: list[str | Path] = [program("pgbouncer"), self.directory / "pgbouncer.ini"]
        log = self.directory / "log"
        self.process = Process("PgBouncer", command, log=log, cwd=self.directory, user=self.user)
        self.process.wait_until(self._answers)

    def _answers(self) -> bool:
        try:
            self.show("VERSION")
        except psycopg.OperationalError:
            return False
        return True

    def show(self, what: str) -> list[dict[str, object]]:
        """Return the rows of a command of its console, such as `POOLS`."""
        console = urlunsplit(urlsplit(self.url)._replace(path="/pgbouncer"))
        with psycopg.connect(console, autocommit=True, connect_timeout=2) as connection:
            cursor = psycopg.ClientCursor(connection, row_factory=psycopg.rows.dict_row)
            return cursor.execute(f"SHOW {what}").fetchall()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop it: SIGTERM and SIGKILL break the connections, SIGINT waits for transactions."""
        super().stop(number)
