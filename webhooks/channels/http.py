"""
Sends one webhook message (docs/contract.md 7, docs/adr/0014 and docs/adr/0027).

The guard sits at the socket, in urllib3's `_new_conn`: the host is resolved once, every answer is checked, and the
connection goes to a checked address, while Host, SNI and the certificate keep the name. One connection for one attempt,
without redirects, retries or proxies from the environment.
"""

import email.utils
import http.client
import io
import logging
import socket
import ssl
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

import urllib3
from django.conf import settings
from urllib3 import exceptions
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.ssl_ import create_urllib3_context

from webhooks.channels.address_guard import (
    DNS_SECONDS,
    AddressRefused,
    NameNotResolved,
    SocketAddress,
    UrlRefused,
    check_url,
    look_up,
    parse_url,
    resolve,
)
from webhooks.channels.outcome import EXCERPT_BYTES, Deadline, Outcome
from webhooks.models import ErrorClass

MAX_SECONDS = 15.0  # for everything: look-up, connect, send, answer
MAX_ANSWER_BYTES = 64 * 1024  # status line and headers included
MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60.0

logger = logging.getLogger(__name__)


def post(url: str, body: bytes, headers: dict[str, str]) -> Outcome:
    """
    POST the body and return the outcome, after at most 15 seconds. Never raises.

    A status whose headers arrived in time decides, even if the body after it is cut off: the receiver has the message,
    and the body is only for the log.
    """
    started = time.monotonic()
    deadline = Deadline(MAX_SECONDS)
    try:
        response = _request(url, body, headers, deadline)
        if deadline.is_over:  # http.client takes headers that we cut off for complete ones
            response.close()
            raise TimeoutError
        excerpt = _excerpt(response)
        return _judge(response.status, response.headers.get("Retry-After"), excerpt, _milliseconds_since(started))
    except Exception as error:
        return Outcome(False, None, _milliseconds_since(started), _error_class(error, deadline).value)
    finally:
        deadline.close()


def _request(url: str, body: bytes, headers: dict[str, str], deadline: Deadline) -> urllib3.BaseHTTPResponse:
    """Send the message and return the answer, its status and headers read. Raises what the guard and urllib3 raise."""
    destination = parse_url(url)
    manager: _GuardedManager
    if settings.WEBHOOK_PROXY_URL:
        # Then the proxy looks up the name and connects, so it must guard; we can only refuse beforehand.
        check_url(url)
        credentials = urllib3.util.parse_url(settings.WEBHOOK_PROXY_URL).auth
        proxy_headers = urllib3.make_headers(proxy_basic_auth=credentials) if credentials else None
        manager = _GuardedProxyManager(
            deadline, settings.WEBHOOK_PROXY_URL, proxy_headers=proxy_headers, ssl_context=tls_context()
        )
    else:
        manager = _GuardedManager(deadline, ssl_context=tls_context())
    return manager.urlopen(
        "POST",
        destination.url,
        body=body,
        headers={**headers, "Connection": "close"},
        redirect=False,
        retries=False,
        timeout=deadline.remaining,
        preload_content=False,
        decode_content=False,  # a compressed answer could be a thousand times its size
    )


@cache
def tls_context() -> ssl.SSLContext:
    """One for the process: reading the system's certificates takes longer than the handshake."""
    context = create_urllib3_context()
    context.load_default_certs()
    return context


class _BoundedReader(io.RawIOBase):
    """Ends the answer after 64 KiB, so that neither endless headers nor an endless body fill the memory."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self._left = MAX_ANSWER_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        count = self._raw.readinto(memoryview(buffer)[: self._left]) if self._left else 0
        self._left -= count or 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _BoundedAnswer(http.client.HTTPResponse):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fp: io.BufferedReader = io.BufferedReader(_BoundedReader(self.fp.detach()))


class _GuardedConnection(HTTPConnection):
    response_class = _BoundedAnswer
    deadline: Deadline

    def _new_conn(self) -> socket.socket:
        """Raises NameNotResolved and AddressRefused, which urllib3 lets pass, and its own errors of connecting."""
        seconds = min(DNS_SECONDS, self.deadline.remaining)
        find = look_up if self.proxy else resolve  # with a proxy this connects to it, and the operator chose it
        line = self._connect_to_first(find(self._dns_host, self.port, seconds))
        self.deadline.watch(line)
        return line

    def _connect_to_first(self, addresses: list[SocketAddress]) -> socket.socket:
        """Try the addresses in turn; each gets its share of the time left, so that a dead one leaves some."""
        for tried, address in enumerate(addresses):
            try:
                return self._connect_to(address, self.deadline.remaining / (len(addresses) - tried))
            except OSError as error:
                last = error
        if isinstance(last, TimeoutError):
            raise exceptions.ConnectTimeoutError(self, "no address answered in time") from last
        raise exceptions.NewConnectionError(self, "no address took the connection") from last

    def _connect_to(self, address: SocketAddress, seconds: float) -> socket.socket:
        line = socket.socket(address.family, socket.SOCK_STREAM)
        try:
            for option in self.socket_options or ():
                line.setsockopt(*option)
            line.settimeout(max(seconds, 0.001))  # 0 would mean "do not wait" and be another error
            line.connect(address.sockaddr)
            line.settimeout(max(self.deadline.remaining, 0.001))
        except OSError:
            line.close()
            raise
        return line


class _GuardedTLSConnection(HTTPSConnection, _GuardedConnection):
    """urllib3's handshake over the guarded socket: HTTPSConnection asks `_new_conn` for it."""


def _connection(scheme: str, deadline: Deadline, **kwargs: Any) -> _GuardedConnection:
    connection = (_GuardedTLSConnection if scheme == "https" else _GuardedConnection)(**kwargs)
    connection.deadline = deadline
    return connection


class _GuardedManager(urllib3.PoolManager):
    """Makes guarded connections only; made for one attempt, so that no connection is ever shared."""

    def __init__(self, deadline: Deadline, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline = deadline

    def _new_pool(self, scheme: str, *args: Any, **kwargs: Any) -> urllib3.HTTPConnectionPool:
        pool = super()._new_pool(scheme, *args, **kwargs)
        # type: ignore, since urllib3 asks for a class and only calls it
        pool.ConnectionCls = partial(_connection, scheme, self._deadline)  # type: ignore[assignment]
        return pool


class _GuardedProxyManager(_GuardedManager, urllib3.ProxyManager):
    pass


def _excerpt(response: urllib3.BaseHTTPResponse) -> str:
    """Read the answer to its bounded end and return its first 4 KiB as text that PostgreSQL takes."""
    kept = bytearray()
    # Keep the part of an answer that breaks off.
    with suppress(exceptions.HTTPError, http.client.HTTPException, OSError):
        while chunk := response.read1(EXCERPT_BYTES):
            kept += chunk[: EXCERPT_BYTES - len(kept)]
    response.close()
    return kept.decode("utf-8", "replace").replace("\0", "")


def _judge(status: int, retry_after: str | None, excerpt: str, duration_ms: int) -> Outcome:
    if 200 <= status < 300:
        return Outcome(True, status, duration_ms, "", excerpt)
    error = ErrorClass.REDIRECT if 300 <= status < 400 else ErrorClass.HTTP_ERROR
    seconds = parse_retry_after(retry_after, datetime.now(UTC))
    return Outcome(False, status, duration_ms, error.value, excerpt, seconds, gone=status == 410)


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds of a Retry-After (RFC 9110, 10.2.3), 0 to 24 hours; None if it is unreadable."""
    value = (value or "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), MAX_RETRY_AFTER_SECONDS)
    try:
        moment = email.utils.parsedate_to_datetime(value)
        seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_SECONDS)


# The first that fits; ssl's errors are OSErrors, and a closed connection is a broken answer to http.client.
_ERROR_CLASSES: tuple[tuple[tuple[type[Exception], ...], ErrorClass], ...] = (
    ((TimeoutError, exceptions.TimeoutError), ErrorClass.TIMEOUT),
    ((UrlRefused, exceptions.LocationValueError), ErrorClass.URL_REFUSED),
    ((AddressRefused,), ErrorClass.ADDRESS_REFUSED),
    ((NameNotResolved,), ErrorClass.DNS_FAILURE),
    ((ssl.SSLError, exceptions.SSLError), ErrorClass.TLS_FAILURE),
    ((ConnectionRefusedError,), ErrorClass.CONNECTION_REFUSED),
    ((http.client.RemoteDisconnected,), ErrorClass.CONNECTION_FAILED),
    ((http.client.HTTPException,), ErrorClass.INVALID_RESPONSE),
    ((OSError, exceptions.HTTPError), ErrorClass.CONNECTION_FAILED),
)


def _error_class(error: Exception, deadline: Deadline) -> ErrorClass:
    if deadline.is_over:
        return ErrorClass.TIMEOUT
    cause = _root_of(error)
    for kinds, error_class in _ERROR_CLASSES:
        if isinstance(cause, kinds):
            return error_class
    logger.error("a webhook attempt failed with an unexpected error", exc_info=error)
    return ErrorClass.INTERNAL_ERROR


def _root_of(error: Exception) -> BaseException:
    """Unwrap urllib3's errors of proxies, of connecting and of a broken exchange, which carry the cause."""
    if isinstance(error, exceptions.ProxyError):
        return _root_of(error.original_error)
    if isinstance(error, exceptions.NewConnectionError):
        return error.__cause__ or error
    if isinstance(error, exceptions.ProtocolError) and isinstance(error.args[-1], Exception):
        return error.args[-1]
    return error


def _milliseconds_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
