"""One request body while it arrives."""

import time
from collections.abc import Callable

from django.conf import settings


class Body:
    """One body while it arrives. `data`: at most one byte more than MAX_BODY_BYTES; the rest is drained."""

    def __init__(self, wake: Callable[[], object]) -> None:
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
