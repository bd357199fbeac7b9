"""One round of either kind, over an emptied table."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.load.client import Load, drive, post_bytes
from tests.load.cpu import tree_seconds
from tests.load.pgbench import make_script, run_pgbench
from tests.load.request import BODY
from tests.services.application import Application
from tests.services.client import Client
from tests.services.postgresql import PostgreSQL
from tests.services.processes import Process
from tests.services.redis_server import RedisServer
from tests.services.waiting import eventually

CLIENTS = 16
GENERATORS = 2  # processes that make the load; pgbench has as many threads
_ARRANGE = "from tests.load import arrangement; arrangement.main()"


@dataclass(frozen=True)
class Round:
    """Submissions through the service, all of them found in the table afterwards."""

    load: Load
    cpu: dict[str, float]  # seconds by role, all its processes
    dispatched: int  # of the rows, when the last answer was in

    def cpu_each(self, role: str) -> float:
        """Return milliseconds of processor time for one submission."""
        return 1000 * self.cpu[role] / self.load.requests


class Bench:
    """The running parts, and the load on them."""

    def __init__(self, application: Application, postgresql: PostgreSQL, redis: RedisServer) -> None:
        self.application = application
        self._servers: dict[str, PostgreSQL | RedisServer] = {"postgresql": postgresql, "redis": redis}
        self.url = application.environment["DATABASE_URL"]
        arranged = json.loads(application.manage("shell", "--verbosity", "0", "--command", _ARRANGE))
        self.path = f"/api/submit?formId={arranged['form_id']}"
        self.key = arranged["key"]
        self._request = post_bytes(application.port, self.path, self.key, BODY)
        self._script = application.directory / "submit.pgbench"
        self._script.write_text(make_script(arranged["statements"], uuid.UUID(arranged["id"])))

    def submit(self, seconds: float) -> Round:
        """Run one round. Raise WrongAnswer at the first answer but 201, AssertionError when a row is missing."""
        self.empty()
        before = self._cpu()
        load = drive(self.application.port, self._request, clients=CLIENTS, processes=GENERATORS, seconds=seconds)
        after = self._cpu()
        rows, dispatched = self.query("SELECT count(*), count(dispatched_at) FROM submissions_submission")
        assert rows == load.requests, f"{load.requests} were answered 201, {rows} are in the table"
        cpu = {role: after[role] - before[role] for role in before}
        return Round(load, {**cpu, "the load": load.cpu}, dispatched)

    def pgbench(self, seconds: float) -> float:
        """Return transactions a second."""
        self.empty()
        return run_pgbench(self.url, self._script, clients=CLIENTS, seconds=seconds)

    def start_celery(self) -> None:
        """Start Celery. Return when a submission has been dispatched."""
        for role in ("worker", "beat"):
            self.application.start_role(role)
        self.empty()
        with Client(self.application.port) as client:
            answer = client.post(self.path, self.key, data=BODY, headers={"Content-Type": "application/json"})
        assert answer.status == 201, answer.text
        dispatched = "SELECT count(*) FROM submissions_submission WHERE dispatched_at IS NOT NULL"
        eventually(lambda: self.query(dispatched)[0], 60, "Celery dispatches")

    def query(self, sql: str) -> Any:
        """Return the first row."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(sql.encode()).fetchone()

    def empty(self) -> None:
        """Reset the database, for rounds of both kinds: no rows, known statistics, the log written out."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("TRUNCATE submissions_submission CASCADE")
            connection.execute("ANALYZE")
            connection.execute("CHECKPOINT")

    def _cpu(self) -> dict[str, float]:
        processes: dict[str, Process | None] = dict(self.application.processes)
        processes |= {name: server.process for name, server in self._servers.items()}
        return {role: tree_seconds(process.popen.pid) for role, process in processes.items() if process}
