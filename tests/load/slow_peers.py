"""Clients that send or read nothing more: silent, open heads, bodies of one byte, exports that nobody reads."""

import itertools
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from config.supervision.ports import allow_open_files

OPEN_FILES = 6_000
HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
EXPORT = "GET /api/submissions/export?format=ndjson HTTP/1.1\r\nHost: 127.0.0.1\r\nx-access-key: {}\r\n\r\n"
BODY = "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n{}\r\n{{"


def address_of(number: int) -> str:
    """Return a visitor's address of loopback."""
    return f"127.250.{number // 250}.{number % 250 + 1}"


class SlowPeers:
    """
    Opens connections and keeps them open. Each starts a request and then does nothing.

    With `spread` each has its own address: nginx bounds those of one address.
    """

    def __init__(self, port: int, *, spread: bool = False) -> None:
        self._port = port
        self._numbers = itertools.count() if spread else None
        self._open = ExitStack()
        allow_open_files(OPEN_FILES)

    def close(self) -> None:
        """Hang up."""
        self._open.close()

    def start(self, request: bytes) -> socket.socket:
        """Send these bytes over a new connection with a small buffer, and return it."""
        connection = self._open.enter_context(socket.socket())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(60)
        if self._numbers:
            connection.bind((address_of(next(self._numbers)), 0))
        connection.connect(("127.0.0.1", self._port))
        connection.sendall(request)
        return connection

    def silent(self, count: int) -> list[socket.socket]:
        """Send nothing."""
        return [self.start(b"") for _ in range(count)]

    def heads(self, count: int) -> list[socket.socket]:
        """Start requests whose headers never end."""
        return [self.start(HEAD) for _ in range(count)]

    def bodies(self, count: int, path: str, headers: str = "") -> list[socket.socket]:
        """Send one byte of a thousand."""
        return [self.start(BODY.format(path, headers).encode()) for _ in range(count)]

    def exports(self, count: int, key: str) -> list[socket.socket]:
        """Ask for exports, and read nothing."""
        return [self.start(EXPORT.format(key).encode()) for _ in range(count)]


@contextmanager
def slow_peers(port: int, *, spread: bool = False) -> Iterator[SlowPeers]:
    """Yield a SlowPeers that hangs up at the end."""
    peers = SlowPeers(port, spread=spread)
    try:
        yield peers
    finally:
        peers.close()


def status_of(connection: socket.socket) -> int:
    """Return the status of the response, without reading on."""
    return int(connection.recv(12).split()[1])


def rest_of(connection: socket.socket) -> bytes:
    """Read until the service closes or cuts the connection."""
    received = bytearray()
    try:
        while part := connection.recv(65_536):
            received += part
    except ConnectionResetError:
        pass
    return bytes(received)
