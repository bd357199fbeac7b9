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


class _Sender:
    """Sends the requested hints from a thread, which the first request of each process starts."""

    def __init__(self) -> None:
        self._wanted: set[str] = set()
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._process = 0

    def ask(self, task: str) -> None:
        self._wanted.add(task)
        self._wake.set()
        if self._process != os.getpid():  # not started yet, or a fork left the thread behind
            with self._lock:
                if self._process != os.getpid():
                    self._process = os.getpid()
                    threading.Thread(target=self._run, daemon=True, name="nudge").start()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while self._wanted:
                try:
                    send_nudge(self._wanted.pop())
                except Exception:  # the thread must survive every error
                    logger.exception("a nudge could not be sent")
            time.sleep(GATHER_SECONDS)


_sender = _Sender()


def nudge(task: str) -> None:
    """Request a run of the task with this name, soon, after the commit of a transaction. Never raises, never blocks."""
    if not settings.REDIS_URL:  # `manage.py deliver` polls the table
        return
    from config.redis_caches import breaker

    if breaker.is_open():
        return
    if connection.in_atomic_block:
        transaction.on_commit(lambda: _sender.ask(task))
    else:
        _sender.ask(task)


def send_nudge(task: str) -> None:
    """Send the hint unless one is outstanding. Never raises; waits for Redis no longer than its timeout."""
    if not settings.REDIS_URL:
        return
    from kombu.exceptions import KombuError

    from config.celery import app
    from config.redis_caches import REDIS_AWAY, breaker

    if breaker.is_open():
        return
    try:
        if _client(settings.REDIS_URL).set(FLAG, 1, nx=True, ex=FLAG_SECONDS):
            app.send_task(task, expires=MESSAGE_SECONDS, retry=False, ignore_result=True)
    except (*REDIS_AWAY, KombuError) as error:
        breaker.trip(error)


def take_nudge() -> None:
    """Clear the flag, so that new rows cause a new hint. The worker calls this before it reads the table."""
    if not settings.REDIS_URL:
        return
    from config.redis_caches import REDIS_AWAY, breaker

    if not breaker.is_open():
        try:
            _client(settings.REDIS_URL).delete(FLAG)
        except REDIS_AWAY as error:
            breaker.trip(error)
