"""Caches that processes share (https://docs.djangoproject.com/en/5.2/topics/cache/)."""

from typing import Any


def redis_cache(url: str, timeout: float) -> dict[str, Any]:
    """Return an entry of CACHES. `timeout`: seconds to connect, and for an answer."""
    return {
        "BACKEND": "config.base.redis_caches.ForgivingRedisCache",
        "LOCATION": url,
        "KEY_PREFIX": "fieldpost:json",
        "OPTIONS": {
            "serializer": "config.base.redis_caches.JsonSerializer",
            "socket_timeout": timeout,
            "socket_connect_timeout": timeout,
        },
    }
