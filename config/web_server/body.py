"""One request body while it arrives."""

import re
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings

LARGE_BODY_BYTES = 1024 * 1024  # of the few pages that take a file
LARGE_BODIES = re.compile(r"/dashboard/o/[^/]+/organization/logo")
MAX_FILE_BODY_BYTES = 256 * 1024 * 1024  # of a body with files, besides MAX_BODY_BYTES for its texts
MULTIPART = b"multipart/form-data"
# Uploads and plain posts, at the addresses of other services too: submissions.hosted.urls and moved_urls.
FILE_PATHS = re.compile(
    r"/f/[^/]+(?:/uploads)?/?|/api/uploads/?|/submit/?|/s/[^/]+/?|/p/[^/]+/f/[^/]+/?|(?:/ajax)?/frm_[^/]+/?"
)


def most_bytes(path: str) -> int:
    """Return how many bytes a body to this path has at most."""
    return LARGE_BODY_BYTES if LARGE_BODIES.fullmatch(path) else int(settings.MAX_BODY_BYTES)


def takes_files(scope: Any) -> bool:
    """Return whether a large body of this request goes to a file: no other body than multipart holds files."""
    if scope.get("method") != "POST" or FILE_PATHS.fullmatch(scope["path"]) is None:
        return False
    media_type = next((value for name, value in scope.get("headers", ()) if name == b"content-type"), b"")
    return bool(media_type.partition(b";")[0].strip().lower() == MULTIPART)


def says_length(scope: Any) -> bool:
    """Return whether the request has a Content-Length."""
    return any(name == b"content-length" for name, _ in scope.get("headers", ()))


def is_large(scope: Any) -> bool:
    """Return whether a body that may go to a file says that it is too large for memory, and not for a file."""
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    if not length.isdigit() or not settings.MAX_BODY_BYTES < int(length[:20]) <= most_in_file():
        return False
    return takes_files(scope)


def most_in_file() -> int:
    """Return how many bytes a body in a file has at most."""
    return MAX_FILE_BODY_BYTES + int(settings.MAX_BODY_BYTES)


class Body:
    """
    One body while it arrives. `data`: at most one byte more than `most`; the rest is drained.

    `is_in_turns`: its connection is read in its turns only (`config/web_server/spool.py`).
    """

    def __init__(self, wake: Callable[[], object], most: int, *, is_in_turns: bool = False) -> None:
        self.is_in_turns = is_in_turns
        self.most = most
        self.data = bytearray()
        self.received = 0  # bytes, drained ones too
        self.was_cut = self.is_asked = False
        self._since = time.monotonic()
        self._wake = wake

    def is_too_slow(self, now: float) -> bool:
        """Return whether the deadline has passed."""
        extra = now - self._since - settings.BODY_SECONDS
        return bool(extra > 0 and self.received < extra * settings.BODY_BYTES_PER_SECOND)

    def ask(self) -> None:
        """Make the reader ask whether to wait for the rest."""
        self.is_asked = True
        self._wake()

    def cut(self) -> None:
        """Make the reader raise TooSlow."""
        self.was_cut = True
        self._wake()

    def wake(self) -> None:
        """Make the reader check again: something has come, or the client has gone."""
        self._wake()
