"""A small HTTP client that shows the whole answer and sends exactly the given request."""

import json
import random
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import count
from typing import Any, Self

import urllib3

TIMEOUT_SECONDS = 30.0
# 127.16.0.1 to 127.239.255.254: every address of loopback is ours to send from. A random start, so that runs over
# the same Redis do not meet within the hour either.
FIRST_ADDRESS, LAST_ADDRESS = int(IPv4Address("127.16.0.1")), int(IPv4Address("127.239.255.254"))
_UNSET: Any = object()


def loopback_addresses() -> Iterator[str]:
    start = random.randrange(LAST_ADDRESS - FIRST_ADDRESS)
    for step in count(start):
        yield str(IPv4Address(FIRST_ADDRESS + step % (LAST_ADDRESS - FIRST_ADDRESS)))


_addresses = loopback_addresses()
_addresses_lock = threading.Lock()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: urllib3.HTTPHeaderDict  # found in any case
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


class Client:
    """
    Requests to 127.0.0.1:`port` from a separate address, so that the limits of an address (requests without a valid
    key, bursts of browsers) count only this client. No redirects, no retries.
    """

    def __init__(self, port: int, address: str | None = None) -> None:
        self.port = port
        with _addresses_lock:  # a generator runs in one thread at a time
            self.address = address or next(_addresses)
        self._pool = urllib3.HTTPConnectionPool(
            "127.0.0.1",
            port,
            source_address=(self.address, 0),
            timeout=TIMEOUT_SECONDS,
            maxsize=32,
            retries=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.close()

    def request(
        self,
        method: str,
        path: str,
        key: str | None = None,
        *,
        json: Any = _UNSET,
        data: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send `json` with its media type, or `data` as it is, with no media type but one in `headers`."""
        sent: dict[str, str] = {}
        if key is not None:
            sent["x-access-key"] = key
        body = data.encode() if isinstance(data, str) else data
        if json is not _UNSET:
            sent["Content-Type"] = "application/json"
            body = dumps(json)
        answer = self._pool.urlopen(method, path, body=body, headers=sent | dict(headers or {}), redirect=False)
        return Answer(answer.status, answer.headers, answer.data)

    def get(self, path: str, key: str | None = None, **options: Any) -> Answer:
        return self.request("GET", path, key, **options)

    def post(self, path: str, key: str | None = None, **options: Any) -> Answer:
        return self.request("POST", path, key, **options)

    def patch(self, path: str, key: str | None = None, **options: Any) -> Answer:
        return self.request("PATCH", path, key, **options)

    def delete(self, path: str, key: str | None = None, **options: Any) -> Answer:
        return self.request("DELETE", path, key, **options)

    def options(self, path: str, key: str | None = None, **options: Any) -> Answer:
        return self.request("OPTIONS", path, key, **options)

    def raw(self, payload: bytes, timeout: float = 5.0) -> bytes:
        """Send these bytes, be they HTTP or not; what came back until the service closed or kept silent."""
        received = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout, (self.address, 0)) as connection:
            connection.sendall(payload)
            try:
                while part := connection.recv(65_536):
                    received += part
            except (TimeoutError, ConnectionResetError):
                pass
        return received


def dumps(value: Any) -> bytes:
    return json.dumps(value).encode()
