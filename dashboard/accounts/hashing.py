"""
Hashes of passwords that anybody can cause: few at a time, since each takes a second of a processor.

Without a bound, sign-ups at the same time would hold every web thread, and forms would wait for them.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from allauth.core.exceptions import ImmediateHttpResponse
from django.http import HttpRequest
from django.shortcuts import render

PLACES = 2  # in a process
WAITS = 1.0  # seconds for a place
RETRY_AFTER = 5  # seconds

_places = threading.BoundedSemaphore(PLACES)


@contextmanager
def place_to_hash(request: HttpRequest) -> Iterator[None]:
    """Hold one of the places. Raises ImmediateHttpResponse, a page with status 429, if none is free in a second."""
    if not _places.acquire(timeout=WAITS):
        response = render(request, "account/busy.html", status=429)  # a 503 is logged as an error of ours, and reported
        response.headers["Retry-After"] = str(RETRY_AFTER)
        raise ImmediateHttpResponse(response)
    try:
        yield
    finally:
        _places.release()
