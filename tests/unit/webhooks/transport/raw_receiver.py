"""A receiver that can misbehave in every way that a real HTTP server cannot, and what the channel's tests share."""

import re
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from ssl import MemoryBIO, SSLContext, SSLWantReadError
from typing import Any

from tests.services.waiting import eventually, let_pass
from webhooks.transport.outcome import Outcome

BODY = b'{"type":"submission.created"}'
HEADERS = {"Content-Type": "application/json", "webhook-id": "msg_1"}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
OPEN = "127.0.0.1"  # the only address that the tests allow
TRAP = "127.0.0.66"
CLOSE = object()
SILENT_SECONDS = 5.0  # for which a silent name server keeps a look-up waiting
BUSY_MS = 4_000  # that a busy machine may add to a deadline
Behaviour = Callable[[socket.socket], Any]


class RawReceiver:
    """A raw TCP server: keeps each request's bytes, answers with bytes, or lets a function do what it likes."""

    def __init__(
        self, answer: bytes | Behaviour = OK, address: str = OPEN, context: SSLContext | None = None, port: int = 0
    ) -> None:
        self.answer, self.context, self.connections = answer, context, 0
        self.ended = 0  # connections
        self.requests: list[bytes] = []
        self.names: list[str | None] = []  # of the server, as TLS clients asked for it
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.listener = socket.create_server((address, port), family=family)
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self.take, args=(connection,), daemon=True).start()

    def take(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:  # OSError: senders that hang up are what tests are about
            if self.context is None:
                self.handle(connection)
            else:
                with self.context.wrap_socket(connection, server_side=True) as secure:
                    self.handle(secure)
        self.ended += 1

    def handle(self, connection: socket.socket) -> None:
        self.requests.append(read_request(connection))
        if callable(self.answer):
            self.answer(connection)
        else:
            connection.sendall(self.answer)

    def wait_until_idle(self) -> None:
        """Return once every connection until now has ended."""
        eventually(lambda: self.connections == self.ended, because="every connection has ended")

    def url(self, host: str = OPEN, scheme: str = "http", path: str = "/hook") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


class KeepingReceiver(RawReceiver):
    """
    Answers every request of a connection with its `webhook-id`, until the sender hangs up.

    `behaviours` are for the first requests, one each: bytes to send, or a function to call. A connection ends where its
    behaviour returns `CLOSE`.
    """

    def __init__(self, *behaviours: bytes | Behaviour, **kwargs: Any) -> None:
        self.behaviours = deque(behaviours)
        super().__init__(**kwargs)

    def handle(self, connection: socket.socket) -> None:
        is_open = True
        while is_open:
            request = read_request(connection)
            self.requests.append(request)
            behaviour = self.behaviours.popleft() if self.behaviours else own_answer(request)
            if isinstance(behaviour, bytes):
                connection.sendall(behaviour)
            else:
                is_open = behaviour(connection) is not CLOSE


class TunnelingProxy(RawReceiver):
    """A proxy that answers by itself: over TLS by `inner` after CONNECT, as the receiver at the other end would."""

    def __init__(self, inner: SSLContext, **kwargs: Any) -> None:
        self._inner = inner
        super().__init__(**kwargs)

    def handle(self, connection: socket.socket) -> None:
        self.requests.append(read_request(connection))
        if not self.requests[-1].startswith(b"CONNECT "):
            connection.sendall(OK)
            return
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        coming, going = MemoryBIO(), MemoryBIO()  # `connection` may speak TLS itself
        tls = self._inner.wrap_bio(coming, going, server_side=True)

        def read() -> bytes:
            while True:
                with suppress(SSLWantReadError):
                    return tls.read(65536)
                connection.sendall(going.read())
                coming.write(connection.recv(65536))

        request = read()  # after the handshake, which it makes
        while not request.endswith(BODY):
            request += read()
        self.requests.append(request)
        tls.write(OK)
        connection.sendall(going.read())


def own_answer(request: bytes) -> bytes:
    return status("200 OK", body=re.findall(rb"webhook-id: (\w+)", request)[0])


Receivers = Callable[..., RawReceiver]
Certificate = tuple[Path, SSLContext]  # the file, and the context of a server that shows it
Names = dict[str, list[list[str]]]  # host -> its answers, each a list of addresses


def read_request(connection: socket.socket) -> bytes:
    request = b""
    while b"\r\n\r\n" not in request:
        request += received(connection)
    head, _, body = request.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    while lengths and len(body) < int(lengths[0]):
        body += received(connection)
    return head + b"\r\n\r\n" + body


def received(connection: socket.socket) -> bytes:
    """The next bytes; an OSError when the other side has hung up."""
    data = connection.recv(65536)
    if not data:
        raise ConnectionResetError
    return data


def status(line: str, *headers: str, body: bytes = b"") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {line}", *headers, f"Content-Length: {len(body)}", "", ""]).encode() + body


def silent(connection: socket.socket) -> None:
    """Say nothing until the sender hangs up."""
    while connection.recv(65536):
        pass


def drip(*, first: bytes = b"", byte: bytes = b"x") -> Behaviour:
    def answer(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(byte)
            let_pass(0.1)

    return answer


def lasted(outcome: Outcome, seconds: float) -> bool:
    """Return whether an attempt with a peer that never ends was ended after so many seconds."""
    return 1000 * seconds - 50 <= outcome.duration_ms < 1000 * seconds + BUSY_MS


def failed_with(outcome: Outcome) -> str:
    assert not outcome.succeeded
    return outcome.error
