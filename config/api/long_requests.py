"""Requests that hold a thread for as long as their client likes: exports, archives, large bodies (contract 8.11)."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

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
