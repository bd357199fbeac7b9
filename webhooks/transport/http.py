"""
Sends one webhook message (docs/contract.md 7, docs/adr/0005, docs/adr/0014 and docs/adr/0048).

Without redirects, retries or proxies from the environment. The connection may have carried earlier messages of the
same endpoint.
"""

import email.utils
import http.client
import logging
import ssl
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from urllib3.exceptions import LocationValueError

from submissions.json_text import dump_json
from webhooks.models import ErrorClass
from webhooks.transport import kept_connections
from webhooks.transport.address_guard import (
    DNS_SECONDS,
    AddressRefused,
    Destination,
    NameNotResolved,
    UrlRefused,
    parse_url,
)
from webhooks.transport.connection import Answer, Connection
from webhooks.transport.deadline import Deadline
from webhooks.transport.outcome import EXCERPT_BYTES, Outcome

MAX_SECONDS = 15.0  # for everything: look-up, connect, send, answer
MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60.0
# How a connection ends that its peer closed while it was idle; the last two are TLS's.
_CLOSED_BY_PEER = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)

logger = logging.getLogger(__name__)


class _Message(NamedTuple):
    method: str
    body: bytes
    headers: dict[str, str]


def post(
    url: str,
    body: bytes,
    headers: dict[str, str],
    *,
    endpoint: str = "",
    method: str = "POST",
    kept: int = EXCERPT_BYTES,
) -> Outcome:
    """
    POST the body and return the outcome, after at most 15 seconds. Never raises.

    `method`: another one. `kept`: bytes of the answer in the outcome, for callers that read it; at most 64 KiB come.
    `endpoint` names the receiver whose messages may share a connection; without it the connection is for this one only.
    A status whose headers arrived in time decides, even if the body after it is cut off: the receiver has the message,
    and the body is only for the log.
    """
    started = time.monotonic()
    if settings.WEBHOOK_PROXY_URL:
        endpoint = ""  # a connection through it is for one message
    with closing(Deadline(MAX_SECONDS)) as deadline:
        try:
            with _answer_to(_Message(method, body, headers), url, endpoint, deadline) as answer:
                if deadline.is_over:  # http.client takes headers that we cut off for complete ones
                    raise TimeoutError
                excerpt = _excerpt(answer, kept)
                retry_after = answer.headers.get("Retry-After")
                return _judge(answer.status, retry_after, excerpt, _milliseconds_since(started))
        except Exception as error:
            return Outcome(False, None, _milliseconds_since(started), _error_class(error, deadline).value)


def logged_request(url: str, body: bytes, headers: dict[str, str], *, left_out: str) -> str:
    """
    Return the JSON text of `{method, url, headers}` as `post` sends them, without one header.

    "" for a URL that `post` refuses: nothing is sent to it, and it may hold a password.
    """
    host = _host_header(url)
    if not host:
        return ""
    own = {"Host": host, "Accept-Encoding": "identity", "Content-Length": str(len(body))}
    kept = {name: value for name, value in headers.items() if name != left_out}
    return dump_json({"method": "POST", "url": url, "headers": own | kept})


@lru_cache(maxsize=1024)
def _host_header(url: str) -> str:
    """Return the `Host` that a URL is sent with, "" for a refused one."""
    try:
        destination = parse_url(url)
        return urlsplit(replace(destination, host=destination.host.rstrip(".")).url).netloc
    except UrlRefused:
        return ""


@contextmanager
def _answer_to(message: _Message, url: str, endpoint: str, deadline: Deadline) -> Iterator[Answer]:
    """Send the message and yield the answer, its status and headers read. Raises what the guard and clients raise."""
    connection, answer = _send(parse_url(url), message, endpoint, deadline)
    try:
        with closing(answer):
            yield answer
    finally:
        deadline.close()  # from here on it does not touch the connection
        if endpoint and not deadline.is_over and answer.leaves_a_clean_connection:
            kept_connections.KEPT.keep(endpoint, connection)
        else:
            connection.close()


def _send(destination: Destination, message: _Message, endpoint: str, deadline: Deadline) -> tuple[Connection, Answer]:
    """Send over a kept connection; if its peer had closed it, and otherwise, over a new one."""
    origin = (destination.scheme, destination.host, destination.port)
    kept = kept_connections.KEPT.take(endpoint, origin) if endpoint else None
    if kept is not None:
        try:
            deadline.watch(kept.sock)
            return kept, kept.exchange(destination.url, message.body, message.headers, deadline, message.method)
        except BaseException as error:
            kept.close()
            was_idle = isinstance(error, _CLOSED_BY_PEER) and not kept.has_answer_begun
            if not was_idle or deadline.is_over:
                raise
    connection = Connection(destination)
    try:
        connection.open(deadline, DNS_SECONDS)
        headers = message.headers if endpoint else {**message.headers, "Connection": "close"}
        return connection, connection.exchange(destination.url, message.body, headers, deadline, message.method)
    except BaseException:
        connection.close()
        raise


def _excerpt(answer: Answer, most: int) -> str:
    """Read the answer to its bounded end and return its first bytes as text that PostgreSQL takes."""
    kept = bytearray()
    # Keep the part of an answer that breaks off.
    with suppress(http.client.HTTPException, OSError):
        while chunk := answer.read1(EXCERPT_BYTES):
            kept += chunk[: most - len(kept)]
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
    ((TimeoutError,), ErrorClass.TIMEOUT),
    ((UrlRefused, LocationValueError), ErrorClass.URL_REFUSED),
    ((AddressRefused,), ErrorClass.ADDRESS_REFUSED),
    ((NameNotResolved,), ErrorClass.DNS_FAILURE),
    ((ssl.SSLError,), ErrorClass.TLS_FAILURE),
    ((ConnectionRefusedError,), ErrorClass.CONNECTION_REFUSED),
    ((http.client.RemoteDisconnected,), ErrorClass.CONNECTION_FAILED),
    ((http.client.HTTPException,), ErrorClass.INVALID_RESPONSE),
    ((OSError,), ErrorClass.CONNECTION_FAILED),
)


def _error_class(error: Exception, deadline: Deadline) -> ErrorClass:
    for kinds, error_class in _ERROR_CLASSES:
        if isinstance(error, kinds):  # the end of the deadline breaks a connection in many ways
            return ErrorClass.TIMEOUT if deadline.is_over else error_class
    logger.error("a webhook attempt failed with an unexpected error", exc_info=error)
    return ErrorClass.INTERNAL_ERROR


def _milliseconds_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
