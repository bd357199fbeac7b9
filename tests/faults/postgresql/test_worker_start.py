"""A Celery worker that starts while Redis is down, and whose children die meanwhile."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from celery import Celery
from django.conf import settings

from tests.services.application import Application
from tests.services.environment import POSTGRESQL, SQLITE
from tests.services.redis_server import RedisServer
from tests.services.waiting import eventually

START_SECONDS = 60.0
TASK = "webhooks.tasks.deliver_due"


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    """Yield a Redis that is not started."""
    server = RedisServer()
    yield server
    server.remove()


@pytest.fixture
def application(
    redis_server: RedisServer, new_environment: Callable[..., dict[str, str]], tmp_path: Path
) -> Iterator[Application]:
    """Yield a service of which nothing runs. Its database is SQLite: only the worker's start is of interest."""
    environment = new_environment(tmp_path, SQLITE, REDIS_URL=redis_server.url)
    made = Application(environment, tmp_path / "service", backend=POSTGRESQL)
    made.directory.mkdir()
    yield made
    made.stop()


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_worker__started_without_redis_and_its_children_killed__works_when_redis_comes(
    application: Application, redis_server: RedisServer
) -> None:
    worker = application.start_role("worker")
    assert worker.log is not None
    log = worker.log
    eventually(lambda: "Cannot connect to redis" in log.read_text(), START_SECONDS)
    killed = eventually(lambda: len(found := children_of(worker.popen.pid)) == 2 and found, START_SECONDS)
    for child in killed:
        os.kill(child, signal.SIGKILL)
    redis_server.start()
    worker.wait_until(lambda: len(set(children_of(worker.popen.pid)) - set(killed)) == 2, START_SECONDS)
    with Celery(broker=redis_server.url, set_as_current=False) as asking:
        asking.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
        asking.send_task(TASK)

        def has_begun_one() -> bool:
            """Return whether the worker counts one task: it does when a child has begun it."""
            found = asking.control.inspect(timeout=1).stats() or {}
            return [stats["total"] for stats in found.values()] == [{TASK: 1}]

        eventually(has_begun_one, START_SECONDS)
