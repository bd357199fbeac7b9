"""
A hint to the workers that something is owed, given by name so that no room imports a higher one.

At most one hint is outstanding: the flag is set with the message and cleared by the worker before it looks at the
table, so a row committed before a refused second hint is seen by the first. A lost hint costs one sweep.
"""

import logging
from functools import cache

import redis
from celery import current_app
from django.conf import settings
from kombu.exceptions import KombuError

from config.api.counters import REDIS_AWAY, breaker

FLAG = "fieldpost:nudged"
FLAG_SECONDS = 5  # a worker that died with the flag up delays hints no longer than this

logger = logging.getLogger(__name__)


@cache
def _client() -> "redis.Redis":
    timeout = settings.REDIS_TIMEOUT_SECONDS
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=timeout, socket_connect_timeout=timeout)


def nudge(task: str) -> None:
    """Ask for a run of the task of this name. Never raises, and waits for Redis no longer than its time-out."""
    if not settings.REDIS_URL or breaker.is_open():
        return  # without Redis, `manage.py deliver` looks by itself
    try:
        if _client().set(FLAG, 1, nx=True, ex=FLAG_SECONDS):
            current_app.send_task(task, expires=60, retry=False, ignore_result=True)
    except (*REDIS_AWAY, KombuError) as error:
        breaker.trip(error)


def take_nudge() -> None:
    """Clear the flag: from now on a new row deserves a new hint. Called by the worker before it looks."""
    if settings.REDIS_URL and not breaker.is_open():
        try:
            _client().delete(FLAG)
        except REDIS_AWAY as error:
            breaker.trip(error)
