"""One attempt to tell somebody, the same for every channel: how long it may take, and what became of it."""

import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from django.db.models import TextChoices

EXCERPT_BYTES = 4 * 1024  # what the log keeps of an answer


class ErrorClass(TextChoices):
    """Why an attempt failed, in words for customers: they never see a raw exception (RELIABILITY)."""

    TIMEOUT = "timeout", "No answer in time"
    DNS_FAILURE = "dns_failure", "The host name could not be resolved"
    URL_REFUSED = "url_refused", "The URL is not allowed"
    ADDRESS_REFUSED = "address_refused", "The host leads to an address or port that is not allowed"
    CONNECTION_REFUSED = "connection_refused", "The host refused the connection"
    CONNECTION_FAILED = "connection_failed", "The connection failed or was closed without an answer"
    TLS_FAILURE = "tls_failure", "No secure connection: the certificate or the protocol was not accepted"
    REDIRECT = "redirect", "The URL redirects, which is not followed"
    HTTP_ERROR = "http_error", "The answer was not a 2xx status"
    INVALID_RESPONSE = "invalid_response", "The answer was not valid HTTP"
    MAIL_REFUSED = "mail_refused", "The mail server refused this mail for good"
    MAIL_FAILED = "mail_failed", "The mail server could not take the mail now"
    CANCELED = "canceled", "Canceled before it was sent"
    INTERNAL_ERROR = "internal_error", "A fault on our side"


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    The result of one attempt.

    status: the HTTP or SMTP status, None when there was no answer. duration_ms: milliseconds from the start to the end.
    error: a value of ErrorClass, "" on success. response_excerpt: the first 4 KiB of the answer, without U+0000.
    retry_after_seconds: what the receiver asked for, 0 to 24 hours. permanent: trying again cannot help.
    gone: the endpoint answered 410 and wants nothing any more (CONTRACT section 7).
    """

    succeeded: bool
    status: int | None
    duration_ms: int
    error: str
    response_excerpt: str = ""
    retry_after_seconds: float | None = None
    permanent: bool = False
    gone: bool = False


class Deadline:
    """
    The end of one attempt, `seconds` from now: then the watched connection is shut down, whatever it is waiting for.

    Socket timeouts start anew at every read, so that a byte a second would hold an attempt for ever.
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
        """Whether an error is due to us, who hung up."""
        return self._is_cut or self.remaining == 0.0

    def watch(self, line: socket.socket) -> None:
        """Watch a connected socket. Closes it and raises TimeoutError when the time is over already."""
        if self.is_over:
            line.close()
            raise TimeoutError
        # A duplicate, since TLS takes the descriptor of the socket that it wraps.
        self._line = line.dup()
        self._timer = threading.Timer(self.remaining, self.cut)
        self._timer.daemon = True
        self._timer.start()

    def cut(self) -> None:
        """Shut the watched connection down now, for every thread that reads or writes on it."""
        self._is_cut = True
        with self._lock, suppress(OSError):  # OSError: the other side was faster
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
