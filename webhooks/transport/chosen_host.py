"""
Calls to a host that the operator chose, such as an OpenID provider: to any address, and not by the webhooks' proxy.

Without redirects, under the caller's deadline, with an answer of at most 1 MiB.
"""

import http.client
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from webhooks.transport.address_guard import (
    DEFAULT_PORTS,
    DNS_SECONDS,
    Destination,
    NameNotResolved,
    SocketAddress,
    look_up,
)
from webhooks.transport.connection import Answer, Connection
from webhooks.transport.deadline import Deadline

MAX_BYTES = 1024 * 1024  # status line and headers included
CHUNK_BYTES = 64 * 1024


class CallFailed(Exception):
    """No whole answer came in time, or it was too large. The text is for the log."""


class _LongAnswer(Answer):
    most_bytes = MAX_BYTES


class _Connection(Connection):
    def __init__(self, destination: Destination) -> None:
        super().__init__(destination)
        self._proxy = None

    def _addresses(self, deadline: Deadline, dns_seconds: float) -> list[SocketAddress]:
        _, host, port = self.origin
        return look_up(host, port, min(dns_seconds, deadline.remaining))

    def response_class(self, *args: Any, **kwargs: Any) -> Answer:  # type: ignore[override]  # http.client only calls it
        self.answer = _LongAnswer(*args, **kwargs)
        return self.answer


def call(
    url: str, deadline: Deadline, *, method: str = "GET", body: bytes = b"", headers: dict[str, str]
) -> tuple[int, bytes]:
    """Return the status and the body. Raises CallFailed, and ValueError for what is no URL."""
    parts = urlsplit(url)
    host = (parts.hostname or "").encode("idna").decode()
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    destination = Destination(parts.scheme, host, parts.port or DEFAULT_PORTS[parts.scheme], target)
    with closing(_Connection(destination)) as connection:
        try:
            connection.open(deadline, DNS_SECONDS)
            sent = {**headers, "Connection": "close"}
            with closing(connection.exchange(destination.url, body, sent, deadline, method)) as answer:
                return answer.status, _whole(answer, deadline)
        except (OSError, http.client.HTTPException, NameNotResolved) as error:
            raise CallFailed(f"{url}: {type(error).__name__} {error}") from error


def _whole(answer: Answer, deadline: Deadline) -> bytes:
    body = bytearray()
    while chunk := answer.read1(CHUNK_BYTES):
        body += chunk
    if deadline.is_over:  # what was cut off looks like an end
        raise TimeoutError
    return bytes(body)
