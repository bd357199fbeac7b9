"""The watchdog and the deadlines that it keeps: each at its time, whatever happens to the others."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from webhooks.transport import deadline as module
from webhooks.transport.deadline import Deadline, call_later


@contextmanager
def stopped_clock() -> Iterator[None]:
    """Let no time pass while deadlines are made, however long that takes; it goes on from the same moment."""
    moment = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "time", SimpleNamespace(monotonic=lambda: moment))
        yield


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(10)
        yield ours, theirs


def test_call_later__many__each_at_its_time_and_canceled_ones_never() -> None:
    called: list[int] = []
    over = threading.Event()
    with stopped_clock():
        call_later(0.3, over.set)
        canceled = call_later(0.05, lambda: called.append(0))
        for number in (3, 1, 2):
            call_later(number / 20, lambda number=number: called.append(number))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        canceled.cancel()
    assert over.wait(10)
    assert called == [1, 2, 3]


def test_call_later__a_call_fails__is_logged_and_the_next_one_is_made(caplog: pytest.LogCaptureFixture) -> None:
    over = threading.Event()
    call_later(0.01, lambda: 1 / 0)
    call_later(0.02, over.set)
    assert over.wait(10)
    assert "ZeroDivisionError" in caplog.text


def test_deadline__at_its_end__shuts_the_connection_down(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    with stopped_clock():
        deadline = Deadline(0.1)
        deadline.watch(ours)
    assert theirs.recv(1) == b""
    assert deadline.is_over
    deadline.close()


def test_deadline__closed__leaves_the_connection_to_its_owner(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    over = threading.Event()
    with stopped_clock():
        deadline = Deadline(0.1)
        deadline.watch(ours)
        deadline.close()
        deadline.close()
    call_later(0.2, over.set)
    assert over.wait(10)
    ours.sendall(b"x")
    assert theirs.recv(1) == b"x"


def test_deadline__watches_another_connection__only_that_one_is_cut(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    others = socket.socketpair()
    with others[0], others[1]:
        others[1].settimeout(10)
        with stopped_clock():
            deadline = Deadline(0.1)
            deadline.watch(ours)
            deadline.watch(others[0])
        assert others[1].recv(1) == b""
        ours.sendall(b"x")
        assert theirs.recv(1) == b"x"
        deadline.close()


def test_deadline__already_over__closes_the_connection_and_raises(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    with pytest.raises(TimeoutError):
        Deadline(0.0).watch(ours)
    assert theirs.recv(1) == b""


def test_deadline__thousands_that_end_early__are_forgotten(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, _ = pair
    before, started = threading.active_count(), time.process_time()
    for _number in range(3_000):
        deadline = Deadline(60.0)
        deadline.watch(ours)
        deadline.close()
    assert threading.active_count() <= before + 1
    assert time.process_time() - started < 1.5
