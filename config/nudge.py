"""
A hint to the workers that something is owed, given by name so that no room imports a higher one.

At most one hint is outstanding: the flag is set with the message and cleared by the worker before it looks at the
table, so a row committed before a refused second hint is seen by the first. A lost hint costs one sweep. A thread of
its own sends them: no request waits for Redis, and what comes within some milliseconds is one hint.
"""

import logging
import os
import threading
import time
from functools import cache

import redis
from celery import current_app
from django.conf import settings
from kombu.exceptions import KombuError

from config.redis_caches import REDIS_AWAY, breaker

DELIVER = "webhooks.tasks.deliver_due"  # the one task that is nudged
FLAG = "fieldpost:nudged"
FLAG_SECONDS = 5  # a worker that died with the flag up delays hints no longer than this
MESSAGE_SECONDS = 60  # then a message that no worker took is worth nothing: the sweeps have looked
GATHER_SECONDS = 0.02  # what is asked for in this while goes out together

logger = logging.getLogger(__name__)


@cache
def _client() -> "redis.Redis":
    timeout = settings.REDIS_TIMEOUT_SECONDS
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=timeout, socket_connect_timeout=timeout)


class _Sender:
    """Sends what is asked for, from a thread that is started at the first time in each process."""

    def __init__(self) -> None:
        self._wanted: set[str] = set()
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._process = 0

    def ask(self, task: str) -> None:
        self._wanted.add(task)
        self._wake.set()
        if self._process != os.getpid():  # none yet, or a fork left the thread behind
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
                except Exception:  # the thread must outlive whatever this was
                    logger.exception("a nudge could not be sent")
            time.sleep(GATHER_SECONDS)


_sender = _Sender()


def nudge(task: str) -> None:
    """Ask for a run of the task of this name, soon. Never raises and never waits."""
    if settings.REDIS_URL and not breaker.is_open():  # without Redis, `manage.py deliver` looks by itself
        _sender.ask(task)


def send_nudge(task: str) -> None:
    """Send the hint unless one is outstanding. Never raises, and waits for Redis no longer than its time-out."""
    if not settings.REDIS_URL or breaker.is_open():
        return
    try:
        if _client().set(FLAG, 1, nx=True, ex=FLAG_SECONDS):
            current_app.send_task(task, expires=MESSAGE_SECONDS, retry=False, ignore_result=True)
    except (*REDIS_AWAY, KombuError) as error:
        breaker.trip(error)


def take_nudge() -> None:
    """Clear the flag: from now on a new row deserves a new hint. Called by the worker before it looks."""
    if settings.REDIS_URL and not breaker.is_open():
        try:
            _client().delete(FLAG)
        except REDIS_AWAY as error:
            breaker.trip(error)
