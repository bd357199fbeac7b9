"""The hour's counter in Redis, over each thread's own connection."""

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from config import redis_caches
from config.redis_caches import Breaker, RedisCounterCache
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL
from tests.services.redis_server import RedisServer

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL  # whose suites have redis-server
pytestmark = pytest.mark.django_db  # others run on SQLite only


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    """Yield a Redis of this module: ending its connections would end those of the suites at the same time."""
    with RedisServer() as running:
        yield running


@pytest.fixture
def admin(server: RedisServer) -> Iterator[Any]:
    with redis.Redis.from_url(server.url) as client:
        yield client


@pytest.fixture
def counters(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(redis_caches, "breaker", Breaker())
    return RedisCounterCache(server.url, {})


def take(counters: Any, key: str, wanted: int = 1) -> Any:
    return counters.take(key, wanted, most=3, seconds=60)


def test_counter__taken_from__stays_between_zero_and_its_most(counters: Any) -> None:
    key = f"test:{uuid.uuid4()}"
    assert [take(counters, key) for _ in range(4)] == [(1, 1), (1, 2), (1, 3), (0, 3)]
    assert take(counters, key, -5) == (-3, 0)


def test_counter__whose_connection_redis_has_closed__counts_without_a_pause(counters: Any, admin: Any) -> None:
    key = f"test:{uuid.uuid4()}"
    take(counters, key)
    assert admin.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") >= 1
    assert take(counters, key) == (1, 2)
    assert not redis_caches.breaker.is_open()


def test_counter__whose_script_redis_has_forgotten__counts(counters: Any, admin: Any) -> None:
    key = f"test:{uuid.uuid4()}"
    take(counters, key)
    admin.script_flush()
    assert [take(counters, key), take(counters, key)] == [(1, 2), (1, 3)]
