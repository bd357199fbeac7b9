"""A receiver that can misbehave in every way that a real HTTP server cannot, and what the channel's tests share."""

import socket
import threading
import time
from contextlib import suppress

BODY = b'{"type":"submission.created"}'
HEADERS = {"Content-Type": "application/json", "webhook-id": "msg_1"}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
OPEN = "127.0.0.1"  # the only address that the tests allow
TRAP = "127.0.0.66"


class RawReceiver:
    """A raw TCP server: keeps each request's bytes, answers with bytes, or lets a function do what it likes."""

    def __init__(self, answer=OK, address=OPEN, context=None):
        self.answer, self.context, self.requests, self.connections = answer, context, [], 0
        self.listener = socket.create_server((address, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self.take, args=(connection,), daemon=True).start()

    def take(self, connection):
        with suppress(OSError), connection:  # OSError: senders that hang up are what tests are about
            if self.context is None:
                self.handle(connection)
            else:
                with self.context.wrap_socket(connection, server_side=True) as secure:
                    self.handle(secure)

    def handle(self, connection):
        self.requests.append(read_request(connection))
        if callable(self.answer):
            self.answer(connection)
        else:
            connection.sendall(self.answer)

    def url(self, host=OPEN, scheme="http", path="/hook"):
        return f"{scheme}://{host}:{self.port}{path}"


def read_request(connection):
    request = b""
    while b"\r\n\r\n" not in request:
        request += received(connection)
    head, _, body = request.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    while lengths and len(body) < int(lengths[0]):
        body += received(connection)
    return head + b"\r\n\r\n" + body


def received(connection):
    """The next bytes; an OSError when the other side has hung up."""
    data = connection.recv(65536)
    if not data:
        raise ConnectionResetError
    return data


def status(line, *headers, body=b""):
    return "\r\n".join([f"HTTP/1.1 {line}", *headers, f"Content-Length: {len(body)}", "", ""]).encode() + body


def drip(*, first=b"", byte=b"x"):
    def answer(connection):
        connection.sendall(first)
        while True:
            connection.sendall(byte)
            time.sleep(0.1)

    return answer


def failed_with(outcome):
    assert not outcome.succeeded
    return outcome.error
