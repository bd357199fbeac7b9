"""Requests that hold a thread for as long as their client likes: exports, archives, large bodies (contract 8.11)."""

import select
import socket
import threading

from django.conf import settings
from django.http import HttpRequest

from config.api.errors import ServiceUnavailable

PATIENCE_SECONDS = 1.0  # for which a body waits until another request is answered
PLACES = threading.Semaphore(max(1, settings.WEB_THREADS // 2))  # of this process
WAITING = threading.Semaphore(max(1, settings.WEB_THREADS // 4))  # a request that waits holds a thread, too
_HELD = "fieldpost.place"  # in the WSGI environment of a request


def hold_place(request: HttpRequest) -> None:
    """Hold a place until the request is answered. Raises ServiceUnavailable if none becomes free."""
    if not PLACES.acquire(blocking=False):
        if not WAITING.acquire(blocking=False):
            raise ServiceUnavailable
        try:
            if not PLACES.acquire(timeout=PATIENCE_SECONDS):
                raise ServiceUnavailable
        finally:
            WAITING.release()
    request.META[_HELD] = True


def give_back_place(request: HttpRequest) -> None:
    """Give back the place that the request holds, if it holds one."""
    if request.META.pop(_HELD, False):
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
