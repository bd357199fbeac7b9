"""Requests that hold a thread for as long as their client likes: exports, archives, large bodies (contract 8.11)."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.http import HttpRequest

from config.api.errors import ServiceUnavailable

PATIENCE_SECONDS = 1.0  # for which a body waits until another one is read
PLACES = threading.Semaphore(max(1, settings.WEB_THREADS // 2))  # of this process


@contextmanager
def reading_a_large_body() -> Iterator[None]:
    """Hold a place meanwhile. Raises ServiceUnavailable if none is free."""
    if not PLACES.acquire(timeout=PATIENCE_SECONDS):
        raise ServiceUnavailable
    try:
        yield
    finally:
        PLACES.release()


def has_left(request: HttpRequest | None) -> bool:
    """Return whether the client has closed its connection, which gunicorn learns when it has something to send."""
    connection = request and request.META.get("gunicorn.socket")
    if not connection:
        return False
    try:
        is_readable = select.select([connection], [], [], 0)[0]
        return bool(is_readable) and not connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True
