"""Connections that carry several messages of one endpoint: when they are used again, and when not."""

import os
import signal
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from ssl import SSLContext
from typing import Any

import pytest

from tests.services.waiting import eventually, let_pass
from tests.unit.webhooks.transport.raw_receiver import (
    BODY,
    CLOSE,
    HEADERS,
    OPEN,
    TRAP,
    Behaviour,
    KeepingReceiver,
    Names,
    RawReceiver,
    Receivers,
    drip,
    failed_with,
    lasted,
    silent,
    status,
)
from webhooks.transport import http, kept_connections
from webhooks.transport.connection import BoundedReader
from webhooks.transport.http import post
from webhooks.transport.outcome import Outcome

pytestmark = pytest.mark.usefixtures("only_loopback")


def send(url: str, number: int = 1, endpoint: str = "wh_1") -> Outcome:
    return post(url, BODY, {**HEADERS, "webhook-id": f"msg_{number}"}, endpoint=endpoint)


@pytest.fixture
def receiver(receivers: Receivers) -> RawReceiver:
    return receivers(kind=KeepingReceiver)


def test_post__messages_of_one_endpoint__share_a_connection_and_get_their_own_answers(receiver: RawReceiver) -> None:
    answers = [send(receiver.url(), number) for number in range(5)]
    assert [(one.succeeded, one.response_excerpt) for one in answers] == [(True, f"msg_{each}") for each in range(5)]
    assert receiver.connections == 1
    assert all(b"Connection:" not in request for request in receiver.requests)


@pytest.mark.parametrize("line", ["204 No Content", "301 Moved", "404 Not Found", "410 Gone", "500 Oops"])
def test_post__after_any_status__the_connection_is_used_again(receivers: Receivers, line: str) -> None:
    receiver = receivers(status(line), kind=KeepingReceiver)
    assert [send(receiver.url()).status, send(receiver.url()).status] == [int(line[:3]), 200]
    assert receiver.connections == 1


def test_post__after_a_chunked_answer__the_connection_is_used_again(receivers: Receivers) -> None:
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n"
    receiver = receivers(chunks, kind=KeepingReceiver)
    assert [send(receiver.url()).response_excerpt, send(receiver.url()).response_excerpt] == ["abcde", "msg_1"]
    assert receiver.connections == 1


def test_post__two_endpoints_at_one_host__share_nothing(receiver: RawReceiver) -> None:
    for endpoint in ("wh_1", "wh_2", "wh_1", "wh_2", ""):
        assert send(receiver.url(), endpoint=endpoint).succeeded
    assert receiver.connections == 3


def test_post__endpoint_that_moves_to_another_host__leaves_the_old_connection(
    receivers: Receivers, receiver: RawReceiver, names: Names
) -> None:
    names["a.example"] = names["b.example"] = [[OPEN]]
    other = receivers(kind=KeepingReceiver)
    for url in (receiver.url("a.example"), receiver.url("b.example"), other.url("b.example")):
        assert send(url).succeeded
    assert (receiver.connections, other.connections) == (2, 1)
    receiver.wait_until_idle()
    assert b"Host: b.example:" in other.requests[0]


def test_post__kept_connection_at_its_age__the_name_is_resolved_and_checked_again(
    receiver: RawReceiver, receivers: Receivers, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = receivers(address=TRAP)
    names["rebind.example"] = [[OPEN], [TRAP]]
    url = receiver.url("rebind.example")
    assert [send(url).succeeded, send(url).succeeded] == [True, True]  # the second one without a look-up
    monkeypatch.setattr(kept_connections, "MAX_AGE_SECONDS", 0.0)
    assert failed_with(send(url)) == "address_refused"
    assert (receiver.connections, len(receiver.requests), trap.connections) == (1, 2, 0)
    receiver.wait_until_idle()


def test_post__answer_that_comes_when_the_connection_is_old__is_not_kept(
    receiver: RawReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_connections, "MAX_AGE_SECONDS", 0.0)
    assert send(receiver.url()).succeeded
    assert len(kept_connections.KEPT) == 0
    receiver.wait_until_idle()


@pytest.mark.parametrize("limit", ["MAX_IDLE_SECONDS", "MAX_AGE_SECONDS"])
def test_kept_connection__idle_or_old__is_closed_without_another_message(
    receiver: RawReceiver, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(kept_connections, "SWEEP_SECONDS", 0.1)
    monkeypatch.setattr(kept_connections, "KEPT", kept_connections.KeptConnections())
    assert send(receiver.url()).succeeded
    assert len(kept_connections.KEPT) == 1
    monkeypatch.setattr(kept_connections, limit, 0.05)
    receiver.wait_until_idle()
    assert len(kept_connections.KEPT) == 0


def together(receiver: RawReceiver, endpoints: list[str]) -> None:
    """Send one message to each of these endpoints, all in flight at the same time."""
    everybody = threading.Barrier(len(endpoints))

    def answer(line: socket.socket) -> None:
        everybody.wait(5)
        line.sendall(status("200 OK"))

    assert isinstance(receiver, KeepingReceiver)
    receiver.behaviours.extend([answer] * len(endpoints))
    with ThreadPoolExecutor(len(endpoints)) as pool:
        assert all(one.succeeded for one in pool.map(lambda name: send(receiver.url(), endpoint=name), endpoints))


def test_kept_connections__more_than_allowed__the_oldest_are_closed(
    receiver: RawReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_connections, "MAX_KEPT_FOR_ENDPOINT", 2)
    monkeypatch.setattr(kept_connections, "MAX_KEPT", 3)
    together(receiver, ["wh_1"] * 4)
    assert len(kept_connections.KEPT) == 2
    together(receiver, ["wh_2"] * 4)
    assert len(kept_connections.KEPT) == 3
    eventually(lambda: receiver.connections - receiver.ended == 3, because="the others are closed")


def reset(line: socket.socket) -> object:
    """End the connection with a reset instead of an orderly end."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return CLOSE


def hang_up(_line: socket.socket) -> object:
    return CLOSE


def answer_and(end: Behaviour) -> Behaviour:
    def behave(line: socket.socket) -> object:
        line.sendall(status("200 OK"))
        return end(line)

    return behave


@pytest.mark.parametrize("end", [hang_up, reset])
def test_post__peer_closed_the_idle_connection__a_new_one_is_used(receivers: Receivers, end: Behaviour) -> None:
    receiver = receivers(answer_and(end), kind=KeepingReceiver)
    assert send(receiver.url()).succeeded
    receiver.wait_until_idle()
    assert send(receiver.url(), 2).response_excerpt == "msg_2"
    assert (receiver.connections, len(receiver.requests)) == (2, 2)


@pytest.mark.parametrize("end", [hang_up, reset])
def test_post__peer_closes_while_the_message_is_on_its_way__it_is_sent_again_on_a_new_connection(
    receivers: Receivers, end: Behaviour
) -> None:
    receiver = receivers(status("200 OK"), end, kind=KeepingReceiver)
    assert send(receiver.url()).succeeded
    assert send(receiver.url(), 2).response_excerpt == "msg_2"
    assert receiver.connections == 2
    assert receiver.requests[1] == receiver.requests[2]


@pytest.mark.parametrize("end", [hang_up, reset])
def test_post__peer_closes_the_new_connection_as_well__the_attempt_has_failed(
    receivers: Receivers, end: Behaviour
) -> None:
    receiver = receivers(status("200 OK"), end, end, kind=KeepingReceiver)
    assert send(receiver.url()).succeeded
    assert failed_with(send(receiver.url(), 2)) == "connection_failed"
    assert (receiver.connections, len(receiver.requests)) == (2, 3)


@pytest.mark.parametrize(
    ("part", "error"),
    [(b"HTTP/1.1 2", "invalid_response"), (b"HTTP/1.1 200 OK\r\na: b", ""), (b"HELLO\r\n\r\n", "invalid_response")],
)
@pytest.mark.parametrize("end", [hang_up, reset])
def test_post__kept_connection_breaks_within_an_answer__is_not_sent_again(
    receivers: Receivers, monkeypatch: pytest.MonkeyPatch, part: bytes, error: str, end: Behaviour
) -> None:
    is_read, real = threading.Event(), BoundedReader.readinto

    def readinto(reader: BoundedReader, buffer: Any) -> int | None:
        count = real(reader, buffer)
        is_read.set()
        return count

    def break_off(line: socket.socket) -> object:
        line.sendall(part)
        assert is_read.wait(5)  # or a reset could discard the part
        return end(line)

    receiver = receivers(status("200 OK"), break_off, kind=KeepingReceiver)
    assert send(receiver.url()).succeeded
    monkeypatch.setattr(BoundedReader, "readinto", readinto)
    assert send(receiver.url(), 2).error in ({error} if end is hang_up else {"connection_failed", error})
    assert (receiver.connections, len(receiver.requests)) == (1, 2)


OTHERS = status("500 Oops", body=b"an answer to nothing")
NOT_TO_BE_KEPT = {
    "a second answer at the same time": status("200 OK") + OTHERS,
    "one byte too many": status("200 OK", body=b"ok") + b"\n",
    "a second answer after chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
    + OTHERS,
    "a body after 204": b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
    "Connection: close": status("200 OK", "Connection: close"),
    "Connection: close among others": status("200 OK", "Connection: x, Close"),
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    "no length": b"HTTP/1.1 200 OK\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 10\r\n\r\n",
    "a length with a sign": b"HTTP/1.1 200 OK\r\nContent-Length: +0\r\n\r\n",
    "length and chunks": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two codings": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "a broken header before the coding": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nbad\r\nTransfer-Encoding: x\r\n\r\n",
    "a chunk of no size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "protocols switched": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "more than 64 KiB": status("200 OK", body=b"x" * 70_000),
}


@pytest.mark.parametrize("name", NOT_TO_BE_KEPT)
def test_post__answer_without_a_clear_end__closes_its_connection(
    receivers: Receivers, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    receiver = receivers(NOT_TO_BE_KEPT[name], kind=KeepingReceiver)
    with monkeypatch.context() as patch:
        patch.setattr(http, "MAX_SECONDS", 0.5)  # the end of an answer without a length
        send(receiver.url())
    assert len(kept_connections.KEPT) == 0
    receiver.wait_until_idle()
    assert send(receiver.url(), 2).response_excerpt == "msg_2"
    assert receiver.connections == 2


@pytest.mark.parametrize("late", [OTHERS, b"\r\n", b"x", status("408 Request Timeout")])
def test_post__bytes_come_between_two_messages__are_not_taken_for_an_answer(receivers: Receivers, late: bytes) -> None:
    go_on, sent = threading.Event(), threading.Event()

    def answer(line: socket.socket) -> None:
        line.sendall(status("200 OK"))
        go_on.wait(5)
        line.sendall(late)
        sent.set()

    receiver = receivers(answer, kind=KeepingReceiver)
    assert send(receiver.url()).succeeded
    go_on.set()
    assert sent.wait(5)
    outcome = send(receiver.url(), 2)
    assert (outcome.succeeded, outcome.response_excerpt) == (True, "msg_2")
    assert receiver.connections == 2


@pytest.mark.parametrize("interim", ["100 Continue", "102 Processing", "103 Early Hints"])
def test_post__interim_answers__are_passed_over(receivers: Receivers, interim: str) -> None:
    hints = b"HTTP/1.1 " + interim.encode() + b"\r\nLink: </style.css>\r\n\r\n"
    receiver = receivers(hints * 3 + status("200 OK", body=b"final"), kind=KeepingReceiver)
    outcome = send(receiver.url())
    assert (outcome.succeeded, outcome.status, outcome.response_excerpt) == (True, 200, "final")
    assert send(receiver.url(), 2).response_excerpt == "msg_2"
    assert receiver.connections == 1


@pytest.mark.parametrize("answer", [silent, drip(first=b"HTTP/1.1 200 OK\r\na: ")])
def test_post__silence_on_a_kept_connection__timeout_at_the_deadline_without_another_try(
    receivers: Receivers, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    receiver = receivers(status("200 OK"), answer, kind=KeepingReceiver)
    assert send(receiver.url()).succeeded
    monkeypatch.setattr(http, "MAX_SECONDS", 0.5)
    outcome = send(receiver.url(), 2)
    assert (failed_with(outcome), outcome.status) == ("timeout", None)
    assert lasted(outcome, 0.5)
    assert (receiver.connections, len(receiver.requests)) == (1, 2)
    assert len(kept_connections.KEPT) == 0


def test_post__deadline_of_the_message_before__does_not_cut_the_next_one(
    receivers: Receivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer_late(line: socket.socket) -> None:
        let_pass(1.1)
        line.sendall(status("200 OK", body=b"late"))

    receiver = receivers(status("200 OK", body=b"prompt"), answer_late, kind=KeepingReceiver)
    with monkeypatch.context() as patch:
        patch.setattr(http, "MAX_SECONDS", 1.0)
        first = send(receiver.url())
    assert [first.response_excerpt, send(receiver.url(), 2).response_excerpt] == ["prompt", "late"]
    assert receiver.connections == 1


def test_post__sixty_four_senders__each_message_gets_its_own_answer(
    receiver: RawReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endpoint has 22 senders at most, fewer than it may keep connections: none opens more than it has senders."""
    monkeypatch.setattr(kept_connections, "MAX_IDLE_SECONDS", 60.0)
    of_sender = [range(sender, 640, 64) for sender in range(64)]

    def send_all(numbers: range) -> list[str]:
        return [send(receiver.url(), number, f"wh_{numbers[0] % 3}").response_excerpt for number in numbers]

    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(send_all, of_sender))
    assert answers == [[f"msg_{number}" for number in numbers] for numbers in of_sender]
    assert receiver.connections <= 64
    assert len(receiver.requests) == 640


def test_post__in_a_fork__does_not_use_the_connections_of_its_parent_and_has_a_deadline(
    receivers: Receivers, receiver: RawReceiver
) -> None:
    slow = receivers(drip(first=b"HTTP/1.1 200 OK\r\na: "))
    assert send(receiver.url()).succeeded
    child = os.fork()
    if child == 0:
        is_right = False
        signal.alarm(10)
        try:
            is_right = len(kept_connections.KEPT) == 0 and send(receiver.url(), 2).response_excerpt == "msg_2"
            http.MAX_SECONDS = 0.5
            is_right = is_right and send(slow.url(), endpoint="wh_2").error == "timeout"
        finally:
            os._exit(0 if is_right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert send(receiver.url(), 3).response_excerpt == "msg_3"
    assert receiver.connections == 2


@pytest.fixture
def secure_receiver(trusted: SSLContext, receivers: Receivers) -> RawReceiver:
    return receivers(kind=KeepingReceiver, context=trusted)


def test_post__https__keeps_the_connection_and_its_handshake(secure_receiver: KeepingReceiver) -> None:
    url = secure_receiver.url("hooks.example", "https")
    assert [send(url, number).response_excerpt for number in range(3)] == ["msg_0", "msg_1", "msg_2"]
    assert secure_receiver.connections == 1


@pytest.mark.parametrize("first", [answer_and(hang_up), status("200 OK") + OTHERS])
def test_post__https_with_an_end_or_a_second_answer__a_new_connection_is_used(
    secure_receiver: KeepingReceiver, first: Any
) -> None:
    secure_receiver.behaviours.append(first)
    url = secure_receiver.url("hooks.example", "https")
    assert send(url).succeeded
    secure_receiver.wait_until_idle()
    assert send(url, 2).response_excerpt == "msg_2"
    assert secure_receiver.connections == 2


def test_post__https_closed_while_the_message_is_on_its_way__is_sent_again(secure_receiver: KeepingReceiver) -> None:
    secure_receiver.behaviours.extend([status("200 OK"), hang_up])
    url = secure_receiver.url("hooks.example", "https")
    assert send(url).succeeded
    assert send(url, 2).response_excerpt == "msg_2"
    assert (secure_receiver.connections, len(secure_receiver.requests)) == (2, 3)


def test_post__silence_on_a_kept_connection_over_tls__timeout_at_the_deadline(
    secure_receiver: KeepingReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    secure_receiver.behaviours.extend([status("200 OK"), drip(first=b"HTTP/1.1 200 OK\r\na: ")])
    url = secure_receiver.url("hooks.example", "https")
    assert send(url).succeeded
    monkeypatch.setattr(http, "MAX_SECONDS", 0.5)
    outcome = send(url, 2)
    assert (failed_with(outcome), lasted(outcome, 0.5)) == ("timeout", True)
