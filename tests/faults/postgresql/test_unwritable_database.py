"""
Databases that answer but store nothing: read-only, full, or down (docs/contract.md 1.15).

Every request gets 503, never 500. The log has one line when it begins and one when it ends; Sentry gets the first.
"""

import gzip
import json
import resource
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.faults import processes
from tests.services.application import Application, LoneRole
from tests.services.client import Answer, Client
from tests.services.environment import POSTGRESQL, SQLITE
from tests.services.postgresql import PostgreSQL
from tests.services.receivers import Receiver
from tests.services.waiting import eventually

REQUESTS = 30
FULL_AT_BYTES = 32 * 1024  # of a file: less than the database and its log have, more than the service's log
THREADS = 8


@pytest.fixture
def sentry() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def start(
    new_environment: Callable[..., dict[str, str]], tmp_path: Path, sentry: Receiver
) -> Iterator[Callable[[str], Application]]:
    """Yield `start(backend)`: the web role, without Redis. It delivers nothing."""
    started: list[Application] = []

    def begin(backend: str) -> Application:
        environment = new_environment(tmp_path, backend, SENTRY_DSN=f"http://public@127.0.0.1:{sentry.port}/1")
        place = tmp_path / "service"
        application = LoneRole(environment, place, backend=backend)
        application.start()
        started.append(application)
        application.manage("create_organization", "Full", "--plan", "enterprise", "--owner", "owner@example.com")
        return application

    yield begin
    for application in started:
        application.stop()


@contextmanager
def read_only(_application: Application, postgresql: PostgreSQL) -> Iterator[None]:
    """Make every transaction read-only, as on a standby."""
    with psycopg.connect(postgresql.url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        connection.execute("SELECT pg_reload_conf()")
        try:
            yield
        finally:
            connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
            connection.execute("SELECT pg_reload_conf()")


@contextmanager
def down(_application: Application, postgresql: PostgreSQL) -> Iterator[None]:
    postgresql.stop(signal.SIGQUIT)
    try:
        yield
    finally:
        postgresql.start()


@contextmanager
def full(application: Application, _postgresql: PostgreSQL) -> Iterator[None]:
    """Let no file of the web processes grow, which SQLite sees as a full disk does."""
    web = {
        pid: resource.prlimit(pid, resource.RLIMIT_FSIZE)
        for pid in processes.tree(application.processes["web"].popen.pid)
    }
    for pid, before in web.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (FULL_AT_BYTES, before[1]))
    try:
        yield
    finally:
        for pid, before in web.items():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


Failure = Callable[[Application, PostgreSQL], AbstractContextManager[None]]


def events_of(sentry: Receiver) -> list[str]:
    """Return the messages of the error reports."""
    bodies = [request.body for request in sentry.requests]
    texts = [gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body for body in bodies]
    lines = [json.loads(line) for text in texts for line in text.splitlines() if line.startswith(b"{")]
    events = [line for line in lines if "exception" in line or "logentry" in line]
    return [event["logentry"]["message"] if "logentry" in event else str(event["exception"]) for event in events]


def logged(application: Application, since: int) -> list[dict[str, object]]:
    return [json.loads(line) for line in (application.directory / "web.log").read_text()[since:].splitlines()]


@pytest.mark.parametrize(
    ("backend", "fail"),
    [(POSTGRESQL, read_only), (POSTGRESQL, down), (SQLITE, full)],
    ids=["read-only", "down", "full"],
)
def test_database__that_stores_nothing__costs_503_two_lines_and_one_report(
    start: Callable[[str], Application], postgresql: PostgreSQL, sentry: Receiver, backend: str, fail: Failure
) -> None:
    application = start(backend)
    key = application.manage("create_key", "--organization", "full", "--name", "Test").strip()
    with Client(application.port) as client, ThreadPoolExecutor(THREADS) as pool:

        def submit(_number: int = 0) -> Answer:
            return client.post("/api/submit", key, json={"text": "x" * 40_000})

        assert submit().status == 201
        before = (application.directory / "web.log").stat().st_size
        with fail(application, postgresql):
            answers = list(pool.map(submit, range(REQUESTS)))
            answers += [client.post("/api/forms", key, json={"name": "Form"})]
            eventually(lambda: client.get("/readyz").status == 503)
        assert {(answer.status, answer.headers["Retry-After"]) for answer in answers} == {(503, "2")}
        eventually(lambda: submit().status == 201)
        eventually(lambda: client.get("/readyz").status == 200)
    began, ended = eventually(lambda: len(lines := logged(application, before)) > 1 and lines)
    assert str(began["event"]).startswith("database unavailable: ")
    assert (ended["event"], began["logger"], ended["logger"]) == ("database available again", *["config.outage"] * 2)
    assert int(str(ended["refused"])) >= len(answers)
    assert [event[:20] for event in events_of(sentry)] == ["database unavailable"]
