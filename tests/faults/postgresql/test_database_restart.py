"""PostgreSQL restarted in immediate mode: 503 meanwhile (docs/contract.md 1.15), and then every request succeeds."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

from tests.services.application import Application
from tests.services.client import Client
from tests.services.postgresql import PostgreSQL

REQUESTS = 100
THREADS = 16  # twice the threads of the web process: every connection is in use before, and broken after
REFUSED_SECONDS = 2.5  # for all clients on a busy machine; a wait for a time-out would take seconds for each thread


def test_postgresql__restarted__costs_503_meanwhile_and_nothing_after(
    application: Application, postgresql: PostgreSQL, key: str
) -> None:
    with Client(application.port) as client, ThreadPoolExecutor(THREADS) as pool:

        def submit(number: int) -> int:
            return client.post("/api/submit", key, json={"number": str(number)}).status

        def read(_number: int) -> int:
            return client.get("/api/submissions", key).status

        stored = client.get("/api/submissions", key).json()["pagination"]["total"]
        accepted = list(pool.map(submit, range(REQUESTS)))
        assert set(pool.map(read, range(REQUESTS))) == {200}
        postgresql.stop(signal.SIGQUIT)
        try:
            refused = client.post("/api/submit", key, json={"number": "lost"})
            assert (refused.status, refused.json()["error"]) == (503, "service_unavailable")
            assert int(refused.headers["Retry-After"]) > 0
            since = time.monotonic()
            assert set(pool.map(submit, range(REQUESTS))) | set(pool.map(read, range(REQUESTS))) == {503}
            assert time.monotonic() - since < REFUSED_SECONDS * 2
        finally:
            postgresql.start()  # for the next tests too
        accepted += pool.map(submit, range(REQUESTS))
        assert set(accepted) == {201}
        assert set(pool.map(read, range(REQUESTS))) == {200}
        total = client.get("/api/submissions", key).json()["pagination"]["total"]
    assert total == stored + len(accepted)
