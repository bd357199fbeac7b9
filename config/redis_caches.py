"""
Cache backends over Redis that count in one round trip and fall back to memory, so that no request fails with Redis.

django-ratelimit counts by `add(key, 1)` and, if the key exists already, `incr(key)`. With Django's RedisCache that is
SET, EXISTS and INCR: three round trips. Here `add` increments, and `incr` returns the number that `add` got.
"""

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import ConnectionError as ClosedError
from redis.exceptions import NoScriptError, RedisError

logger = logging.getLogger(__name__)

REDIS_AWAY = (RedisError, OSError)


class Breaker:
    """A circuit breaker: after a failure of Redis, the next requests do not each wait for its timeout."""

    def __init__(self) -> None:
        self._closed_at = 0.0
        self._lock = threading.Lock()

    def is_open(self) -> bool:
        """Return whether Redis must not be called now."""
        return time.monotonic() < self._closed_at

    def trip(self, error: BaseException) -> None:
        """Stop calling Redis for REDIS_RETRY_SECONDS, and log it once in this time."""
        with self._lock:
            was_open = self.is_open()
            self._closed_at = time.monotonic() + settings.REDIS_RETRY_SECONDS
        if not was_open:
            logger.warning("redis unavailable, working without it for %s s: %s", settings.REDIS_RETRY_SECONDS, error)


breaker = Breaker()  # one per process, shared by caches and nudges


class JsonSerializer:
    """Store values as JSON: a neighbor who writes to Redis cannot run code here, as with Django's default, pickle."""

    def dumps(self, value: Any) -> str:
        """Return a value's JSON. A whole number's is what INCR counts."""
        return json.dumps(value)

    def loads(self, text: bytes) -> Any:
        """Return the value of a JSON text. A tuple has become a list."""
        return json.loads(text)


def _forgiving(name: str) -> Callable[..., Any]:
    """Return RedisCache's method with this name, which becomes that of the process' memory without Redis."""

    def method(self: RedisCache, *args: Any, **kwargs: Any) -> Any:
        if not breaker.is_open():
            try:
                return getattr(RedisCache, name)(self, *args, **kwargs)
            except REDIS_AWAY as error:
                breaker.trip(error)
        return getattr(caches["local"], name)(*args, **kwargs)

    return method


class ForgivingRedisCache(RedisCache):
    """Django's RedisCache that falls back to the memory of the process while Redis is unavailable."""

    add = _forgiving("add")
    get = _forgiving("get")
    set = _forgiving("set")
    touch = _forgiving("touch")
    delete = _forgiving("delete")
    get_many = _forgiving("get_many")
    has_key = _forgiving("has_key")
    incr = _forgiving("incr")
    set_many = _forgiving("set_many")
    delete_many = _forgiving("delete_many")
    clear = _forgiving("clear")


# Compare and count in one step, so that requests at the same moment cannot pass the ceiling together. Nothing is taken
# from a counter that is gone: it would come back below zero, and never expire.
_TAKE = """
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
local wanted = tonumber(ARGV[1])
local taken = math.max(-count, math.min(wanted, math.max(0, tonumber(ARGV[2]) - count)))
if taken ~= 0 then
  count = redis.call('INCRBY', KEYS[1], taken)
  if count == taken then redis.call('EXPIRE', KEYS[1], ARGV[3]) end
end
return {taken, count}
"""
_TAKE_SHA = hashlib.sha1(_TAKE.encode(), usedforsecurity=False).hexdigest()  # the name that Redis gives it


class RedisCounterCache(ForgivingRedisCache):
    """A cache that counts in one round trip, with or without Redis."""

    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._counts = threading.local()
        self._own = threading.local()
        self._client: Any = None  # kept: Django builds a client for every call, which takes longer than the call

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Increment the counter `key` and return whether this was its first count. A `value` of 0 counts nothing."""
        if value == 0:
            return False  # django-ratelimit only reads, by `get`, next
        self._counts.last = self._count(key, self.get_backend_timeout(timeout), version)
        return bool(self._counts.last == 1)

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """
        Return the number that the preceding `add` of this thread counted.

        django-ratelimit decides this odd interface: it calls `incr` right after an `add` that returned False.
        """
        return int(self._counts.last)

    def take(self, key: str, wanted: int, *, most: int, seconds: int) -> tuple[int, int] | None:
        """
        Add up to `wanted` to a counter, while it stays at most `most`; a negative number gives back.

        Returns `(taken, count)`; None while Redis is unavailable. One round trip.
        """
        if breaker.is_open():
            return None
        full_key = self.make_and_validate_key(key)
        try:
            try:
                found = self._call("EVALSHA", _TAKE_SHA, 1, full_key, wanted, most, seconds)
            except NoScriptError:  # the first call since Redis started
                found = self._call("EVAL", _TAKE, 1, full_key, wanted, most, seconds)
            return int(found[0]), int(found[1])
        except REDIS_AWAY as error:
            breaker.trip(error)
            return None

    def _call(self, *command: str | int) -> Any:
        """
        Run a command over this thread's own connection, which takes half the time of redis-py's client and its pool.

        The connection opens itself again after a failure. If Redis has closed it since the last call, try again: a
        request that was counted and lost its answer counts twice, as with redis-py's retries.
        """
        connection = getattr(self._own, "connection", None)
        if connection is None:
            pool = self._client_for(str(command[0])).connection_pool
            connection = self._own.connection = pool.connection_class(**pool.connection_kwargs)
        packed = connection.pack_command(*command)
        try:
            connection.send_packed_command(packed, check_health=False)
            return connection.read_response()
        except ClosedError:
            connection.send_packed_command(packed, check_health=False)
            return connection.read_response()

    def _client_for(self, full_key: str) -> Any:
        if self._client is None:
            self._client = self._cache.get_client(full_key, write=True)
        return self._client

    def _count(self, key: str, timeout: float | None, version: int | None) -> int:
        full_key = self.make_and_validate_key(key, version=version)
        if not breaker.is_open():
            try:
                pipeline = self._client_for(full_key).pipeline(transaction=False)
                pipeline.incr(full_key)
                pipeline.expire(full_key, int(timeout or 0), nx=True)
                return int(pipeline.execute()[0])
            except REDIS_AWAY as error:
                breaker.trip(error)
        local = caches["local"]
        try:
            return 1 if local.add(key, 1, timeout) else int(local.incr(key))
        except ValueError:  # it expired or was evicted in between
            return 1
