"""The HTTP channel's limits on time and size: nobody holds a delivery for longer, or fills the memory."""

import socket
from typing import Any

import pytest

from tests.unit.webhooks.transport.raw_receiver import (
    BODY,
    HEADERS,
    OPEN,
    Receivers,
    drip,
    failed_with,
    lasted,
    silent,
    status,
)
from webhooks.transport import http
from webhooks.transport.http import post

pytestmark = pytest.mark.usefixtures("only_loopback")


@pytest.mark.parametrize("answer", [silent, drip(first=b"HTTP/1.1 200 OK\r\na: ")])
def test_post__silent_or_dripping_headers__timeout_at_the_deadline(
    receivers: Receivers, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    monkeypatch.setattr(http, "MAX_SECONDS", 0.5)
    outcome = post(receivers(answer).url(), BODY, HEADERS)
    assert (failed_with(outcome), outcome.status) == ("timeout", None)
    assert lasted(outcome, 0.5)


@pytest.mark.parametrize("framing", [b"Content-Length: 9999", b"Transfer-Encoding: chunked", b"X: until closed"])
def test_post__dripping_body__ends_at_the_deadline_and_the_status_decides(
    receivers: Receivers, monkeypatch: pytest.MonkeyPatch, framing: bytes
) -> None:
    monkeypatch.setattr(http, "MAX_SECONDS", 1.0)
    byte = b"1\r\nx\r\n" if b"chunked" in framing else b"x"
    receiver = receivers(drip(first=b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n\r\n", byte=byte))
    outcome = post(receiver.url(), BODY, HEADERS)
    assert (outcome.succeeded, set(outcome.response_excerpt)) == (True, {"x"})
    assert lasted(outcome, 1.0)


def test_post__receiver_that_does_not_read__timeout_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_SECONDS", 0.5)
    with socket.create_server((OPEN, 0)) as listener:
        outcome = post(f"http://{OPEN}:{listener.getsockname()[1]}/", b"x" * 32_000_000, HEADERS)
    assert failed_with(outcome) == "timeout"
    assert lasted(outcome, 0.5)


def test_post__host_that_does_not_take_connections__timeout_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_SECONDS", 0.5)
    with socket.socket() as listener:
        listener.bind((OPEN, 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(3)]  # fill the queue: from then on the kernel drops new connections
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        outcome = post(f"http://{OPEN}:{listener.getsockname()[1]}/", BODY, HEADERS)
        for each in waiting:
            each.close()
    assert failed_with(outcome) == "timeout"
    assert lasted(outcome, 0.5)


@pytest.mark.parametrize(
    "first", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n"]
)
def test_post__huge_answer__reads_64_kib_and_keeps_4(receivers: Receivers, first: bytes) -> None:
    sent = []

    def flood(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        connection.sendall(first)
        while True:
            sent.append(connection.send(b"x" * 65536))

    outcome = post(receivers(flood).url(), BODY, HEADERS)
    assert (outcome.succeeded, outcome.response_excerpt) == (True, "x" * 4096)
    assert outcome.duration_ms < 1000 * http.MAX_SECONDS
    assert sum(sent) < 16_000_000  # what fits into the two sockets' buffers, not the gigabyte


def test_post__answer_larger_than_the_limit__reads_exactly_64_kib(
    receivers: Receivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    real = socket.SocketIO.readinto

    def counted(raw: Any, buffer: Any) -> int:
        read.append(real(raw, buffer) or 0)
        return read[-1]

    monkeypatch.setattr(socket.SocketIO, "readinto", counted)
    post(receivers(status("200 OK", body=b"x" * 200_000)).url(), BODY, HEADERS)
    assert sum(read) == 64 * 1024


def test_post__endless_headers__stop_at_64_kib(receivers: Receivers) -> None:
    def flood(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"a: " + b"x" * 60_000 + b"\r\n")

    assert post(receivers(flood).url(), BODY, HEADERS).duration_ms < 1000 * http.MAX_SECONDS


def test_post__compressed_answer__is_not_unpacked(receivers: Receivers) -> None:
    outcome = post(receivers(status("200 OK", "Content-Encoding: gzip", body=b"not gzip")).url(), BODY, HEADERS)
    assert (outcome.succeeded, outcome.response_excerpt) == (True, "not gzip")
