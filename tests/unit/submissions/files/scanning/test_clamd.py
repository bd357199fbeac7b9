"""The protocol of clamd: Debian's own, killed and started again, and others in its place that misbehave."""

import io
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO

import pytest

from submissions.files.scanning import clamd as protocol
from submissions.files.scanning.clamd import ClamdAway, NotScanned, scan
from tests.services.clamd_server import MAX_STREAM_BYTES, VIRUS, VIRUS_NAME, ClamdServer
from tests.services.waiting import let_pass, takes_at_most

SAFE = b"%PDF-1.7 harmless " * 1000
INFECTED = b"x" * 200_000 + VIRUS + b"y" * 200_000  # in the second of several chunks
Answer = Callable[[socket.socket], None]


@contextmanager
def in_its_place(answer: Answer) -> Iterator[str]:
    """Yield the address of a server that treats its one connection with `answer`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)
        assert not thread.is_alive()


def read_all(connection: socket.socket) -> None:
    """Read a file to the length of zero that ends it."""
    received = b""
    while not received.endswith(bytes(4)):
        received = (received + connection.recv(65_536))[-8:]


def answering(reply: bytes) -> Answer:
    def answer(connection: socket.socket) -> None:
        read_all(connection)
        connection.sendall(reply)

    return answer


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_file__clean_or_infected__gets_its_result(clamd: ClamdServer, kind: str) -> None:
    url = clamd.tcp_url if kind == "tcp" else clamd.unix_url
    assert scan(io.BytesIO(SAFE), url) is None
    assert scan(io.BytesIO(b""), url) is None
    assert str(scan(io.BytesIO(INFECTED), url)).startswith(VIRUS_NAME)


def test_file__larger_than_the_scanner_takes__is_not_scanned(clamd: ClamdServer) -> None:
    with pytest.raises(NotScanned, match="size limit exceeded"):
        scan(io.BytesIO(b"x" * MAX_STREAM_BYTES * 8), clamd.tcp_url)


def test_scanner__killed_and_started_again__is_away_and_back(clamd: ClamdServer) -> None:
    clamd.stop()
    try:
        for url in (clamd.tcp_url, clamd.unix_url):
            with pytest.raises(ClamdAway):
                scan(io.BytesIO(SAFE), url)
    finally:
        clamd.start()
    assert scan(io.BytesIO(SAFE), clamd.unix_url) is None


@pytest.mark.parametrize(
    "reply",
    [
        b"stream: OK",  # cut off
        b"stream: OK\n",
        b"stream: OK and more\0",
        b"other: OK\0",
        b"\0",
        b"HTTP/1.1 400 Bad Request\r\n\r\n\0",
        b"\xff" * 100_000,
        b"stream: " + b"A" * 100_000 + b" FOUND\0",
    ],
    ids=range(8),
)
def test_reply__of_something_else__is_no_result(reply: bytes) -> None:
    def answer(connection: socket.socket) -> None:
        read_all(connection)
        with suppress(OSError):  # closed after the first kilobyte
            connection.sendall(reply)

    with in_its_place(answer) as url, pytest.raises(ClamdAway):
        scan(io.BytesIO(SAFE), url)


@pytest.mark.parametrize("reply", [b"stream: Can't read file ERROR\0", b"INSTREAM size limit exceeded. ERROR\0", b""])
def test_reply__that_refuses_the_file_or_is_empty__means_not_scanned(reply: bytes) -> None:
    with in_its_place(answering(reply)) as url, pytest.raises(NotScanned):
        scan(io.BytesIO(SAFE), url)


def silent(connection: socket.socket) -> None:
    connection.recv(10)
    connection.settimeout(10)
    while connection.recv(65_536):  # until it is closed
        pass


def reads_nothing(connection: socket.socket) -> None:
    let_pass(1.5)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def drips(connection: socket.socket) -> None:
    read_all(connection)
    with suppress(OSError):
        for _ in range(100):
            connection.sendall(b"s")
            let_pass(0.1)


@pytest.mark.parametrize("answer", [silent, reads_nothing, drips], ids=lambda each: each.__name__)
def test_scanner__that_never_ends__has_no_result_after_a_bounded_time(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "SILENCE_SECONDS", 0.5)
    monkeypatch.setattr(protocol, "SCAN_SECONDS", 1.0)

    def scan_one() -> None:
        with in_its_place(answer) as url, pytest.raises(NotScanned):
            scan(io.BytesIO(bytes(30_000_000) if answer is reads_nothing else SAFE), url)

    assert takes_at_most(8, scan_one)  # each of them goes on for ten seconds, or as long as nobody reads


def test_file__that_cannot_be_read__is_not_the_scanners_fault(clamd: ClamdServer) -> None:
    class Broken(io.BytesIO):
        def read(self, *_arguments: object) -> bytes:
            raise OSError("the storage is gone")

    broken: IO[bytes] = Broken()
    with pytest.raises(NotScanned, match="the storage is gone"):
        scan(broken, clamd.tcp_url)
