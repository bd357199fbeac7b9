"""The thread that produces a streamed response, while it has nothing to hand over."""

import threading
import uuid
from collections.abc import Generator

from submissions.exporting.places import Place, take_place
from submissions.exporting.producer_thread import BackgroundParts


def test_empty_parts__between_others__are_passed_over() -> None:
    def parts() -> Generator[bytes, None, None]:
        yield from (b"", b"a", b"", b"", b"b", b"")

    assert list(BackgroundParts(parts, take_place(uuid.uuid4()))) == [b"a", b"b"]


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

    response = BackgroundParts(parts, take_place(uuid.uuid4()))
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

    assert list(BackgroundParts(parts, place)) == [b"first"]
