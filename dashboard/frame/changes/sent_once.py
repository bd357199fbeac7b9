"""Pages that make one object each: a reload or a double click must not make another."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.cache import cache
from django.http import HttpRequest

OPEN_PAGES = 5  # of a browser, of which each can still be saved
REMEMBERED = 86_400  # seconds
FIELD = "once"  # name of the input with the page's token


def open_page(request: HttpRequest, name: str) -> str:
    """Return the token of a page. `name`: of the session's key for such pages."""
    token = secrets.token_urlsafe(12)
    request.session[name] = [*_open_pages(request, name), token][-OPEN_PAGES:]
    return token


@contextmanager
def sent_once(request: HttpRequest, name: str) -> Iterator[bool]:
    """
    Yield whether this page is sent for the first time. After an exception it can be sent again.

    Two clicks are two requests, which read the same session before either has saved it: the cache decides.
    """
    token = request.POST.get(FIELD, "")
    mark = f"sent-once:{token}"
    if token not in _open_pages(request, name) or not cache.add(mark, 1, REMEMBERED):
        yield False
        return
    try:
        yield True
    except BaseException:
        cache.delete(mark)
        raise
    request.session[name] = [each for each in _open_pages(request, name) if each != token]


def _open_pages(request: HttpRequest, name: str) -> list[str]:
    known = request.session.get(name)
    return known if isinstance(known, list) else []  # sessions of the last release have one token
