"""One request body while it arrives."""

import re
import time
from collections.abc import Callable

from django.conf import settings

LARGE_BODY_BYTES = 1024 * 1024  # of the few pages that take a file
LARGE_BODIES = re.compile(r"/dashboard/o/[^/]+/organization/logo")


def most_bytes(path: str) -> int:
    """Return how many bytes a body to this path has at most."""
    return LARGE_BODY_BYTES if LARGE_BODIES.fullmatch(path) else int(settings.MAX_BODY_BYTES)


class Body:
    """One body while it arrives. `data`: at most one byte more than `most`; the rest is drained."""

    def __init__(self, wake: Callable[[], object], most: int) -> None:
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
