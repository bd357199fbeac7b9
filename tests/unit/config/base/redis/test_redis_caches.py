"""The hour's counter in Redis, and caches with and without Redis."""

import os
import pickle
import uuid
from collections.abc import Iterator
from inspect import iscoroutinefunction
from typing import Any

import pytest
import redis
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.redis import RedisCache

from config.base import redis_caches
from config.base.redis_caches import Breaker, ForgivingRedisCache
from submissions.receiving import proof_of_work
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
    return ForgivingRedisCache(server.url, {})


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


CALLS: dict[str, tuple[Any, ...]] = {
    "add": ("a", 1, 60),
    "get": ("a",),
    "set": ("a", 1, 60),
    "touch": ("a", 60),
    "incr": ("a",),
    "decr": ("a",),
    "has_key": ("a",),
    "get_or_set": ("a", 1),
    "get_many": (["a"],),
    "set_many": ({"a": 1},),
    "delete": ("a",),
    "delete_many": (["a"],),
    "clear": (),
}


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> ForgivingRedisCache:
    """Return a cache whose Redis refuses connections."""
    monkeypatch.setattr(redis_caches, "breaker", Breaker())
    return ForgivingRedisCache("redis://127.0.0.1:1/0", {"OPTIONS": {"socket_connect_timeout": 1}})


@pytest.mark.parametrize("name", CALLS)
def test_cache__without_redis__is_that_of_the_process_and_asks_redis_once(
    lost: ForgivingRedisCache, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost.set("a", 1, 60)  # Redis refuses this call, and the breaker all others
    monkeypatch.setattr(RedisCache, "_cache", property(lambda _cache: pytest.fail("Redis was called")))
    getattr(lost, name)(*CALLS[name])


@pytest.mark.parametrize("name", CALLS)
def test_cache__whose_redis_fails_in_this_call__raises_nothing(
    lost: ForgivingRedisCache, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost.set("a", 1, 60)
    monkeypatch.setattr(redis_caches, "breaker", Breaker())  # it is closed: this call finds the outage
    getattr(lost, name)(*CALLS[name])
    assert redis_caches.breaker.is_open()


def test_calls__of_the_table__are_all_that_a_cache_has() -> None:
    public = {name for name, value in vars(BaseCache).items() if name[0] != "_" and not iscoroutinefunction(value)}
    others = {"get_backend_timeout", "make_key", "make_and_validate_key", "validate_key", "close"}
    by_others = {"incr_version", "decr_version"}  # get, set and delete
    assert set(CALLS) == public - others - by_others


def test_uses__without_redis__are_counted_in_the_process(
    lost: ForgivingRedisCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof_of_work, "cache", lost)
    key = f"test:{uuid.uuid4()}"
    assert [proof_of_work.uses_of(key, 600) for _ in range(3)] == [1, 2, 3]


class Runs:
    """An object whose pickle runs code when it is read."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("Code from Redis has run.",)


def test_value__in_redis__is_json_and_a_pickle_there_runs_nothing(
    server: RedisServer, admin: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_caches, "breaker", Breaker())
    cache = ForgivingRedisCache(server.url, settings.CACHES["default"])
    cache.set("test", [1.5, "y", True, None], 60)
    name = cache.make_key("test")
    assert admin.get(name) == b'[1.5, "y", true, null]'
    assert cache.get("test") == [1.5, "y", True, None]
    admin.set(name, pickle.dumps(Runs()))
    with pytest.raises(ValueError, match=r"codec|Expecting"):
        cache.get("test")
