"""
Hints to the workers that deliveries are due. The task is addressed by name, so that no app imports a higher one.

At most one hint is outstanding: sending it sets a flag, and the worker clears the flag before it reads the table, so
that a row whose own hint was skipped is seen through the outstanding one. A lost hint delays delivery until the next
sweep. A background thread sends the hints: no request waits for Redis, and those within milliseconds become one.

Celery, kombu and redis are imported by the first hint, and never without Redis: 90 ms and 12 MB of every process.
"""

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import connection, transaction

if TYPE_CHECKING:
    import redis

DELIVER = "webhooks.tasks.deliver_due"  # the one task that is nudged
FLAG = "fieldpost:nudged"
FLAG_SECONDS = 5  # a worker that died with the flag set delays hints by this much at most
MESSAGE_SECONDS = 60  # an older message is useless: the sweeps have read the table since
GATHER_SECONDS = 0.02  # requests within this time are sent as one

logger = logging.getLogger(__name__)


@cache
def _client(url: str) -> "redis.Redis":
    import redis

    timeout = settings.REDIS_TIMEOUT_SECONDS
    return redis.Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout)


def is_redis_reachable() -> bool:
    """Return whether the Redis of REDIS_URL answers within REDIS_TIMEOUT_SECONDS."""
    import redis

    try:
        return bool(_client(settings.REDIS_URL).ping())
    except (redis.RedisError, OSError):
        return False


_wanted: set[str] = set()
_wake = threading.Event()


def _ask(task: str) -> None:
    _wanted.add(task)
    _wake.set()
    _start_sender(os.getpid())


@cache
def _start_sender(_process: int) -> None:
    """Start the thread that sends, once in each process: a fork leaves it behind."""
    threading.Thread(target=_send_wanted, daemon=True, name="nudge").start()


def _send_wanted() -> None:
    while True:
        _wake.wait()
        _wake.clear()
        while _wanted:
            try:
                send_nudge(_wanted.pop())
            except Exception:  # the thread must survive every error
                logger.exception("a nudge could not be sent")
        time.sleep(GATHER_SECONDS)


def nudge(task: str) -> None:
    """Request a run of the task with this name, soon, after the commit of a transaction. Never raises, never blocks."""
    if not settings.REDIS_URL:  # `manage.py deliver` polls the table
        return
    from config.base.redis_caches import breaker

    if breaker.is_open():
        return
    if connection.in_atomic_block:
        transaction.on_commit(lambda: _ask(task))
    else:
        _ask(task)


def send_nudge(task: str) -> None:
    """Send the hint unless one is outstanding. Never raises; waits for Redis no longer than its timeout."""
    if not settings.REDIS_URL:
        return
    from config.celery import app

    with _redis() as client:
        if client and client.set(FLAG, 1, nx=True, ex=FLAG_SECONDS):
            app.send_task(task, expires=MESSAGE_SECONDS, retry=False, ignore_result=True)


def take_nudge() -> None:
    """Clear the flag, so that new rows cause a new hint. The worker calls this before it reads the table."""
    if settings.REDIS_URL:
        with _redis() as client:
            if client:
                client.delete(FLAG)


@contextmanager
def _redis() -> "Iterator[redis.Redis | None]":
    """Yield the client, or None after a failure of Redis; catch one in the block."""
    from kombu.exceptions import KombuError

    from config.base.redis_caches import REDIS_AWAY, breaker

    try:
        yield None if breaker.is_open() else _client(settings.REDIS_URL)
    except (*REDIS_AWAY, KombuError) as error:
        breaker.trip(error)
