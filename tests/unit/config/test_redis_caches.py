"""The hour's counter in Redis, over each thread's own connection."""

import os
import uuid
from typing import Any

import pytest
from django.core.cache import caches

from config import redis_caches
from config.redis_caches import Breaker
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL  # which runs with Redis


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(redis_caches, "breaker", Breaker())
    return caches["counters"]


def take(counters: Any, key: str, wanted: int = 1) -> Any:
    return counters.take(key, wanted, most=3, seconds=60)


def test_counter__taken_from__stays_between_zero_and_its_most(counters: Any) -> None:
    key = f"test:{uuid.uuid4()}"
    assert [take(counters, key) for _ in range(4)] == [(1, 1), (1, 2), (1, 3), (0, 3)]
    assert take(counters, key, -5) == (-3, 0)


def test_counter__whose_connection_redis_has_closed__counts_without_a_pause(counters: Any) -> None:
    key = f"test:{uuid.uuid4()}"
    take(counters, key)
    counters._client_for(key).execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    assert take(counters, key) == (1, 2)
    assert not redis_caches.breaker.is_open()


def test_counter__whose_script_redis_has_forgotten__counts(counters: Any) -> None:
    key = f"test:{uuid.uuid4()}"
    take(counters, key)
    counters._client_for(key).script_flush()
    assert [take(counters, key), take(counters, key)] == [(1, 2), (1, 3)]
