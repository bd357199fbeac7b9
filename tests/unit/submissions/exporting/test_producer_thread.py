"""The thread that produces a streamed response, while it has nothing to hand over."""

import threading
from collections.abc import Generator

import pytest
from django.db import connections

from submissions.exporting.places import Place
from submissions.exporting.producer_thread import BackgroundParts


def test_empty_parts__are_no_part__and_do_not_wait_in_line() -> None:
    may_end = threading.Event()

    def parts() -> Generator[bytes, None, None]:
        yield from (b"", b"", b"a", *[b""] * 100)
        may_end.wait(10)
        yield from (b"b", b"")

    response = BackgroundParts(parts, Place([]))
    response.check()
    assert next(response) == b"a"
    assert next(response) == b""
    may_end.set()
    rest = list(response)
    assert len(rest) < 10
    assert b"".join(rest) == b"b"


def test_error__after_empty_parts__is_known_before_the_response_begins() -> None:
    def parts() -> Generator[bytes, None, None]:
        yield b""
        yield b""
        raise ValueError("on purpose")

    response = BackgroundParts(parts, Place([]))
    with pytest.raises(ValueError, match="on purpose"):
        response.check()


def test_client__that_leaves_while_no_part_is_ready__ends_the_producer() -> None:
    has_ended, may_wait = threading.Event(), threading.Event()

    def parts() -> Generator[bytes, None, None]:
        try:
            yield b"first"
            yield b"second"
            while True:
                may_wait.wait(0.01)
                yield b""
        finally:
            has_ended.set()

    response = BackgroundParts(parts, Place([]))
    assert next(response) == b"first"
    assert not has_ended.is_set()
    response.close()
    assert has_ended.wait(10)


class WatchedPlace(Place):
    """Notes that it is renewed."""

    def __init__(self) -> None:
        super().__init__([])
        self.renewed = threading.Event()

    def renew(self) -> None:
        self.renewed.set()


def test_place__while_no_part_is_ready__is_renewed() -> None:
    place = WatchedPlace()

    def parts() -> Generator[bytes, None, None]:
        yield b""
        yield b"first" if place.renewed.is_set() else b"too early"

    assert b"".join(BackgroundParts(parts, place)) == b"first"


def test_connection__that_cannot_be_closed__does_not_leave_the_client_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise OSError("on purpose")

    def parts() -> Generator[bytes, None, None]:
        yield b"a"

    monkeypatch.setattr(connections, "close_all", fails)
    response = BackgroundParts(parts, Place([]))
    assert next(response) == b"a"
    with pytest.raises(OSError, match="on purpose"):
        next(response)
