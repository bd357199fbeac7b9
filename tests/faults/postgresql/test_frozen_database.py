"""
A PostgreSQL that answers nothing, but whose kernel still takes connections and bytes (docs/running.md).

Two kinds: all its processes are stopped, and every commit waits for a standby that is unreachable.
"""

import os
import signal
import threading
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
FROZEN_SECONDS = 3.0


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
    is_waiting = threading.Event()

    def commit() -> None:
        with psycopg.connect(postgresql.url, autocommit=True) as writing:
            while not is_waiting.is_set():
                writing.execute("SELECT pg_logical_emit_message(true, '', '')")

    def count_waiting() -> int:
        found = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").fetchone()
        return int(found[0]) if found else 0

    with psycopg.connect(postgresql.url, autocommit=True) as connection, ThreadPoolExecutor(1) as pool:
        connection.execute("SET synchronous_commit = local")  # for this connection
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'unreachable'")
        connection.execute("SELECT pg_reload_conf()")
        pool.submit(commit)
        try:
            eventually(count_waiting, because="commits wait")
            yield
        finally:
            is_waiting.set()
            connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
            connection.execute("SELECT pg_reload_conf()")


@pytest.mark.parametrize("freeze", [stopped, without_its_standby])
def test_frozen_postgresql__lets_requests_wait__and_loses_none(
    application: Application,
    postgresql: PostgreSQL,
    key: str,
    freeze: Callable[[PostgreSQL], AbstractContextManager[None]],
) -> None:
    with Client(application.port) as client, ThreadPoolExecutor(SENDERS) as pool:

        def submit(number: int) -> tuple[int, str]:
            answer = client.post("/api/submit", key, json={"number": str(number)})
            return answer.status, answer.json().get("data", {}).get("id", "")

        assert {status for status, _ in pool.map(submit, range(SENDERS))} == {201}  # each thread has its connection
        with freeze(postgresql):
            waiting = [pool.submit(submit, number) for number in range(SENDERS)]
            let_pass(FROZEN_SECONDS)
            assert not any(one.done() and one.result()[0] == 201 for one in waiting)
        answers = [one.result() for one in waiting]
        # One that had no connection yet and got none in five seconds is refused.
        assert {status for status, _ in answers} <= {201, 503}
        assert 201 in {status for status, _ in answers}
        assert all(client.get(f"/api/submissions/{one}", key).status == 200 for _, one in answers if one)
        assert {status for status, _ in pool.map(submit, range(SENDERS))} == {201}
