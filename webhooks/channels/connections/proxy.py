"""
Messages through the operator's proxy, WEBHOOK_PROXY_URL (docs/running.md).

The proxy looks up the receiver's name and connects, so it must guard. A connection through it is for one message.
"""

import socket
from functools import partial
from typing import Any

import urllib3
from django.conf import settings
from urllib3 import exceptions
from urllib3.connection import HTTPConnection, HTTPSConnection

from webhooks.channels.connections.address_guard import Destination, look_up
from webhooks.channels.connections.connection import SHORTEST_SECONDS, Answer, connect, tls_context
from webhooks.channels.connections.deadline import Deadline


def send_through_proxy(
    destination: Destination,
    body: bytes,
    headers: dict[str, str],
    deadline: Deadline,
    dns_seconds: float,
    method: str = "POST",
) -> urllib3.BaseHTTPResponse:
    """Send the message and return the answer, its status and headers read. Raises urllib3's errors."""
    credentials = urllib3.util.parse_url(settings.WEBHOOK_PROXY_URL).auth
    proxy_headers = urllib3.make_headers(proxy_basic_auth=credentials) if credentials else None
    manager = _WatchedProxyManager(
        deadline, dns_seconds, settings.WEBHOOK_PROXY_URL, proxy_headers=proxy_headers, ssl_context=tls_context()
    )
    return manager.urlopen(
        method,
        destination.url,
        body=body,
        headers={**headers, "Connection": "close"},
        redirect=False,
        retries=False,
        timeout=deadline.remaining,
        preload_content=False,
        decode_content=False,  # a compressed answer could be a thousand times its size
    )


class _WatchedConnection(HTTPConnection):
    response_class = Answer
    deadline: Deadline
    dns_seconds: float

    def _new_conn(self) -> socket.socket:
        """Connect to the proxy, whose address needs no check: the operator chose it."""
        addresses = look_up(self._dns_host, self.port, min(self.dns_seconds, self.deadline.remaining))
        try:
            line = connect(addresses, self.deadline)
        except OSError as error:
            raise exceptions.NewConnectionError(self, "the proxy did not take the connection") from error
        self.deadline.watch(line)
        line.settimeout(max(self.deadline.remaining, SHORTEST_SECONDS))
        return line


class _WatchedTLSConnection(HTTPSConnection, _WatchedConnection):
    """urllib3's handshake over the watched socket: HTTPSConnection asks `_new_conn` for it."""


def _connection(scheme: str, deadline: Deadline, dns_seconds: float, **kwargs: Any) -> _WatchedConnection:
    connection = (_WatchedTLSConnection if scheme == "https" else _WatchedConnection)(**kwargs)
    connection.deadline, connection.dns_seconds = deadline, dns_seconds
    return connection


class _WatchedProxyManager(urllib3.ProxyManager):
    """Made for one attempt, so that no connection is ever shared."""

    def __init__(self, deadline: Deadline, dns_seconds: float, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = (deadline, dns_seconds)

    def _new_pool(self, scheme: str, *args: Any, **kwargs: Any) -> urllib3.HTTPConnectionPool:
        pool = super()._new_pool(scheme, *args, **kwargs)
        pool.ConnectionCls = partial(_connection, scheme, *self._limits)  # type: ignore[assignment]  # only called
        return pool
