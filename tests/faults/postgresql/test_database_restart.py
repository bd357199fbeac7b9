"""PostgreSQL restarted in immediate mode: 503 meanwhile (docs/contract.md 1.15), and then every request succeeds."""

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.services.application import Application, LoneRole
from tests.services.client import Client
from tests.services.environment import POSTGRESQL
from tests.services.postgresql import PostgreSQL

REQUESTS = 100
THREADS = 16  # twice the threads of the web process: every pooled connection is in use before, and broken after
REFUSED_SECONDS = 2.5  # for all clients on a busy machine; a wait for the pool would take 3 s for each thread


@pytest.fixture
def application(new_environment: Callable[..., dict[str, str]], tmp_path: Path) -> Iterator[Application]:
    """Yield the web role over that server, without Redis."""
    environment, place = new_environment(tmp_path), tmp_path / "service"
    with LoneRole(environment, place, backend=POSTGRESQL) as running:
        running.manage("create_organization", "Restarted", "--plan", "enterprise", "--owner", "owner@example.com")
        yield running


def test_postgresql__restarted__costs_503_meanwhile_and_nothing_after(
    application: Application, postgresql: PostgreSQL
) -> None:
    key = application.manage("create_key", "--organization", "restarted", "--name", "Test").strip()
    with Client(application.port) as client, ThreadPoolExecutor(THREADS) as pool:

        def submit(number: int) -> int:
            return client.post("/api/submit", key, json={"number": str(number)}).status

        def read(_number: int) -> int:
            return client.get("/api/submissions", key).status

        accepted = list(pool.map(submit, range(REQUESTS)))
        assert set(pool.map(read, range(REQUESTS))) == {200}
        postgresql.stop(signal.SIGQUIT)
        refused = client.post("/api/submit", key, json={"number": "lost"})
        assert (refused.status, refused.json()["error"]) == (503, "service_unavailable")
        assert int(refused.headers["Retry-After"]) > 0
        since = time.monotonic()
        assert set(pool.map(submit, range(REQUESTS))) | set(pool.map(read, range(REQUESTS))) == {503}
        assert time.monotonic() - since < REFUSED_SECONDS * 2
        postgresql.start()
        accepted += pool.map(submit, range(REQUESTS))
        assert set(accepted) == {201}
        assert set(pool.map(read, range(REQUESTS))) == {200}
        total = client.get("/api/submissions", key).json()["pagination"]["total"]
    assert total == len(accepted)
