"""A cache over Redis that falls back to the memory of the process, so that no request fails with Redis."""

import json
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from django.utils.functional import cached_property
from redis.exceptions import RedisError

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

    def take(self, key: str, wanted: int, *, most: int, seconds: int) -> tuple[int, int] | None:
        """
        Add up to `wanted` to a counter, while it stays at most `most`; a negative number gives back.

        Returns `(taken, count)`; None while Redis is unavailable. One round trip.
        """
        if breaker.is_open():
            return None
        try:
            taken, count = self._take([self.make_and_validate_key(key)], [wanted, most, seconds])
        except REDIS_AWAY as error:
            breaker.trip(error)
            return None
        return int(taken), int(count)

    @cached_property
    def _take(self) -> Any:
        """The script of `take`, kept: Django builds a client for every call, which takes longer than the call."""
        return self._cache.get_client(write=True).register_script(_TAKE)
