"""
A PostgreSQL that answers nothing, but whose kernel still takes connections and bytes (docs/contract.md 1.15).

Two kinds: all its processes are stopped, and every commit waits for a standby that is unreachable.
"""

import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests.services.application import Application
from tests.services.client import Client
from tests.services.postgresql import PostgreSQL
from tests.services.waiting import eventually, let_pass

SENDERS = 12  # more than the web process has threads
MAX_SECONDS = 8.0  # until a request is answered; without a bound it takes until the database is back
FROZEN_SECONDS = 12.0  # longer than MAX_SECONDS


@contextmanager
def stopped(postgresql: PostgreSQL) -> Iterator[None]:
    """Stop every process of the server with SIGSTOP."""
    assert postgresql.process is not None
    main = postgresql.process.popen.pid
    pids = [main, *map(int, Path(f"/proc/{main}/task/{main}/children").read_text().split())]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):  # one that had just ended when it was stopped
                os.kill(pid, signal.SIGCONT)


@contextmanager
def without_its_standby(postgresql: PostgreSQL) -> Iterator[None]:
    """Let every commit wait for a standby that does not exist. Reads are answered as before."""
    with psycopg.connect(postgresql.url, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = local")  # for this connection
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'unreachable'")
        connection.execute("SELECT pg_reload_conf()")
        try:
            yield
        finally:
            connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
            connection.execute("SELECT pg_reload_conf()")


class Senders:
    """Threads that submit without a pause. `seen`: status, seconds and Retry-After of each answer."""

    def __init__(self, application: Application, key: str) -> None:
        self.seen: list[tuple[int, float, str]] = []
        self._application, self._key = application, key
        self._ended = threading.Event()
        self._pool = ThreadPoolExecutor(SENDERS)
        self._futures = [self._pool.submit(self._send) for _ in range(SENDERS)]

    def _send(self) -> None:
        with Client(self._application.port) as client:
            while not self._ended.is_set():
                since = time.monotonic()
                answer = client.post("/api/submit", self._key, json={"a": "1"})
                self.seen.append((answer.status, time.monotonic() - since, answer.headers.get("Retry-After", "")))
                self._ended.wait(0.1)

    def end(self) -> None:
        """Stop them. Raises the error of one that got no answer."""
        self._ended.set()
        self._pool.shutdown()
        for future in self._futures:
            future.result()


def outage_lines(application: Application) -> list[str]:
    lines = (application.directory / "web.log").read_text().splitlines()
    return [line for line in lines if "database unavailable" in line or "database available again" in line]


@pytest.mark.parametrize("freeze", [stopped, without_its_standby])
def test_frozen_postgresql__under_load__costs_503_within_seconds_and_nothing_after(
    application: Application,
    postgresql: PostgreSQL,
    key: str,
    freeze: Callable[[PostgreSQL], AbstractContextManager[None]],
) -> None:
    eventually(lambda: len(outage_lines(application)) % 2 == 0, 15, "an outage of the test before is over")
    before = len(outage_lines(application))
    senders, health = Senders(application, key), []
    eventually(lambda: any(status == 201 for status, _, _ in senders.seen))
    with freeze(postgresql), Client(application.port) as client:
        until = time.monotonic() + FROZEN_SECONDS
        while time.monotonic() < until:
            since = time.monotonic()
            assert client.get("/healthz").status == 200
            health.append(time.monotonic() - since)
            let_pass(0.2)
    eventually(lambda: senders.seen[-1][0] == 201 and senders.seen[-SENDERS][0] == 201, 15, "all is well")
    senders.end()
    assert {(status, retry) for status, _, retry in senders.seen} == {(201, ""), (503, "2")}
    assert max(seconds for _, seconds, _ in senders.seen) < MAX_SECONDS
    # Behind the senders, which hold every thread for seconds at a time, most of them would wait too.
    assert statistics.median(health) < 1
    began, ended = eventually(lambda: len(lines := outage_lines(application)) == before + 2 and lines[before:])
    assert "database unavailable: " in began
    refused = sum(status == 503 for status, _, _ in senders.seen)
    assert f'"refused": {refused}' in ended
