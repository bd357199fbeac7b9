"""The outcome and the deadline of one attempt, the same for every channel."""

import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

EXCERPT_BYTES = 4 * 1024  # the part of an answer that the log keeps


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    The result of one attempt.

    status: the HTTP or SMTP status, None when there was no answer. duration_ms: milliseconds from the start to the end.
    error: a value of ErrorClass, "" on success. response_excerpt: the first 4 KiB of the answer, without U+0000.
    retry_after_seconds: the receiver's Retry-After, 0 to 24 hours. permanent: a retry cannot help.
    gone: the endpoint answered 410 and accepts no more messages (docs/contract.md 7). crashed: the process that sent it
    ended without a result.
    """

    succeeded: bool
    status: int | None
    duration_ms: int
    error: str
    response_excerpt: str = ""
    retry_after_seconds: float | None = None
    permanent: bool = False
    gone: bool = False
    crashed: bool = False


class Deadline:
    """
    The end of one attempt, `seconds` from now. It shuts the watched connection down, even in the middle of a read.

    A socket timeout starts again at every read, so a receiver that sends a byte a second would never run into it.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._lock = threading.Lock()  # without it, a shutdown could hit the next owner of a closed descriptor
        self._line: socket.socket | None = None
        self._timer: threading.Timer | None = None
        self._is_cut = False

    @property
    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed, so that an error on the connection is its doing."""
        return self._is_cut or self.remaining == 0.0

    def watch(self, line: socket.socket) -> None:
        """Watch a connected socket. Closes it and raises TimeoutError if the deadline has passed."""
        if self.is_over:
            line.close()
            raise TimeoutError
        # A duplicate, since TLS takes the descriptor of the socket that it wraps.
        self._line = line.dup()
        self._timer = threading.Timer(self.remaining, self.cut)
        self._timer.daemon = True
        self._timer.start()

    def cut(self) -> None:
        """Shut the watched connection down now, for every thread that uses it."""
        self._is_cut = True
        with self._lock, suppress(OSError):  # OSError: the peer closed it first
            if self._line is not None:
                self._line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop watching. Safe to call at any time and more than once."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            if self._line is not None:
                self._line.close()
                self._line = None
