"""
The receiver of a benchmark: answers every POST with 201 and notes its path and `webhook-id`.

A process by itself, so that it shares no interpreter with the senders. It reads only what it needs of a request: head,
length, body. 201 is a success to a sender, and the answer that `tests/load/client.py` expects when it measures how many
requests a second the receiver takes at most.

    python -m tests.load.deliveries.receiver PORT    GET / answers a `Taken` as JSON, DELETE / forgets
"""

import asyncio
import http.client
import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import ClassVar, cast

import uvloop

from tests.services.processes import Process, free_port, listens

CREATED = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
_END = b"\r\n\r\n"


@dataclass(frozen=True)
class Taken:
    """The requests since the last DELETE: how many, how many with another path or id, and when, by time.monotonic."""

    requests: int
    distinct: int
    first: float
    last: float


class Receiver:
    """A running receiver process."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def taken(self) -> Taken:
        """Return the requests so far."""
        return Taken(**json.loads(self._ask("GET")))

    def requests(self) -> int:
        """Return how many there are, which costs less."""
        return int(self._ask("GET", "/count"))

    def forget(self) -> None:
        """Count from zero."""
        self._ask("DELETE")

    def _ask(self, method: str, path: str = "/") -> bytes:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request(method, path)
            return connection.getresponse().read()


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    """Yield a receiver, started here."""
    port = free_port()
    process = Process("receiver", [sys.executable, "-m", __name__, str(port)], log=None)
    try:
        process.wait_until(lambda: listens(port))
        yield Receiver(port)
    finally:
        process.stop()


class _Connection(asyncio.Protocol):
    posts: ClassVar[list[tuple[bytes, bytes]]] = []  # of all connections: path and id
    times: ClassVar[list[float]] = []

    def __init__(self) -> None:
        self._unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class is not derived from it

    def data_received(self, data: bytes) -> None:
        self._unread = self._unread + data if self._unread else data
        while True:
            head, found, rest = self._unread.partition(_END)
            if not found:
                return
            lower = head.lower()
            length = int(_value(lower, b"\r\ncontent-length:") or 0)
            if len(rest) < length:
                return
            self._unread = rest[length:]
            self._answer(head, lower)

    def _answer(self, head: bytes, lower: bytes) -> None:
        method, path, _ = head.split(b" ", 2)
        if method == b"POST":
            self.times.append(time.monotonic())
            self.posts.append((path, _value(lower, b"\r\nwebhook-id:")))
            self._transport.write(CREATED)
        else:
            self._transport.write(_report(method, path))
        if _value(lower, b"\r\nconnection:") == b"close":
            self._transport.close()


def _value(head: bytes, name: bytes) -> bytes:
    return head.partition(name)[2].partition(b"\r\n")[0].strip()


def _report(method: bytes, path: bytes) -> bytes:
    posts, times = _Connection.posts, _Connection.times
    if path == b"/count":
        body = str(len(posts)).encode()
    else:
        first, last = (times[0], times[-1]) if times else (0.0, 0.0)
        body = json.dumps(asdict(Taken(len(posts), len(set(posts)), first, last))).encode()
    if method == b"DELETE":
        posts.clear()
        times.clear()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
