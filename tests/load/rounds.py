"""A running service over PostgreSQL and Redis, and rounds of submitting to it."""

import json
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.load.client import Load, drive, post_bytes
from tests.load.cpu import tree_seconds
from tests.load.request import BODY
from tests.load.statements import TABLE, Logged, Statements, stored_row
from tests.services.application import Application
from tests.services.client import Client
from tests.services.postgresql import PostgreSQL
from tests.services.waiting import eventually

CLIENTS = 16
GENERATORS = 2  # processes that make the load; pgbench has as many threads


@dataclass(frozen=True)
class Submitted:
    """Submissions of a round, all of them found in the table afterwards. `cpu_ms`: of the web role, for each."""

    load: Load
    cpu_ms: float


class Bench:
    """The running parts, and the load on them."""

    def __init__(self, application: Application, postgresql: PostgreSQL) -> None:
        self.application = application
        self.postgresql = postgresql
        self.url = application.environment["DATABASE_URL"]
        arranged = self.shell("from tests.load import arrangement; arrangement.main()")
        self.path = f"/api/submit?formId={arranged['form_id']}"
        self.key: str = arranged["key"]

    def shell(self, code: str) -> Any:
        """Run code in the service's environment. Return the line of JSON that it prints."""
        return json.loads(self.application.manage("shell", "--verbosity", "0", "--command", code))

    def submit(self, seconds: float, to: Application | None = None) -> Submitted:
        """
        Run one round over an emptied table, `to` another service over the same database or to this one.

        Raises WrongAnswer at the first answer but 201, AssertionError when a row is missing.
        """
        self.empty()
        target = to or self.application
        request = post_bytes(target.port, self.path, self.key, BODY)
        web = target.processes["web"].popen.pid
        before = tree_seconds(web)
        load = drive(target.port, request, clients=CLIENTS, processes=GENERATORS, seconds=seconds)
        cpu = tree_seconds(web) - before
        rows = self.query(f"SELECT count(*) FROM {TABLE}")[0]
        assert rows == load.requests, f"{load.requests} were answered 201, {rows} are in the table"
        return Submitted(load, 1000 * cpu / load.requests)

    def statements(self) -> Statements:
        """Return what the service does for one submission: submit one, and read PostgreSQL's log and the row."""
        self.empty()
        (digest,) = self.query("SELECT digest FROM keys_accesskey WHERE name = 'Bench'")
        with Logged(self.postgresql) as logged, Client(self.application.port) as client:

            def find() -> list[str]:
                """Submit again each time: sessions read the new setting some time after the server."""
                answer = client.post(self.path, self.key, data=BODY, headers={"Content-Type": "application/json"})
                assert answer.status == 201, answer.text
                return [one for one in logged.statements() if one.startswith("SELECT") and digest in one]

            found = eventually(find, because="PostgreSQL's log has the look-up", every=0.2)
        return Statements(found[0], digest, *stored_row(self.url))

    def query(self, sql: str) -> Any:
        """Return the first row."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(sql.encode()).fetchone()

    def empty(self) -> None:
        """Reset the submissions, for rounds of every kind: no rows, known statistics, the log written out."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("TRUNCATE submissions_submission CASCADE")
            connection.execute("ANALYZE")
            connection.execute("CHECKPOINT")
