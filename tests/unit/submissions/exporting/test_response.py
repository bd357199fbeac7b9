"""The streamed response of an export: its place, and the time before a part is ready."""

import socket
from collections.abc import Generator

import pytest
from django.http import HttpRequest

from config.api.errors import ServiceUnavailable
from submissions.exporting import places
from submissions.exporting.places import Place
from submissions.exporting.response import in_place


class WatchedPlace(Place):
    """Counts what happens to it."""

    def __init__(self) -> None:
        super().__init__([])
        self.renewed = self.released = 0

    def renew(self) -> None:
        self.renewed += 1

    def release(self) -> None:
        self.released += 1


def test_parts__with_empty_ones__come_without_these_and_keep_the_place() -> None:
    place = WatchedPlace()
    content = in_place((part for part in (b"", b"", b"a", b"", b"b", b"")), place, None)
    assert next(content) == b""
    assert (place.renewed, place.released) == (3, 0)
    assert list(content) == [b"a", b"b"]
    assert (place.renewed, place.released) == (6, 1)


def test_parts__of_which_one_took_longer_than_the_lease__end(monkeypatch: pytest.MonkeyPatch) -> None:
    content = in_place((part for part in (b"a", b"b", b"c")), Place([]), None)
    assert [next(content), next(content)] == [b"", b"a"]
    monkeypatch.setattr(places, "LEASE_SECONDS", -1)  # the client takes its time
    with pytest.raises(ServiceUnavailable):
        next(content)


def test_parts__of_which_there_are_none__are_an_empty_file() -> None:
    place = WatchedPlace()
    assert b"".join(in_place((part for part in (b"",)), place, None)) == b""
    assert place.released == 1


def test_error__after_empty_parts__is_raised_before_the_response_begins() -> None:
    def parts() -> Generator[bytes, None, None]:
        yield b""
        yield b""
        raise ValueError("on purpose")

    place = WatchedPlace()
    with pytest.raises(ValueError, match="on purpose"):
        next(in_place(parts(), place, None))
    assert place.released == 1


@pytest.mark.parametrize("taken", [0, 1])
def test_response__that_is_closed__ends_its_parts_and_releases_the_place(taken: int) -> None:
    ended = []

    def parts() -> Generator[bytes, None, None]:
        try:
            yield from (b"first", b"second")
        finally:
            ended.append(True)

    place = WatchedPlace()
    content = in_place(parts(), place, None)
    next(content)
    assert [next(content) for _ in range(taken)] == [b"first"] * taken
    assert (ended, place.released) == ([], 0)
    content.close()
    assert (ended, place.released) == ([True], 1)


def test_client__that_leaves_while_no_part_is_ready__ends_the_parts() -> None:
    ended = []

    def parts() -> Generator[bytes, None, None]:
        try:
            yield b"first"
            while True:
                yield b""
        finally:
            ended.append(True)

    ours, theirs = socket.socketpair()
    request, place = HttpRequest(), WatchedPlace()
    request.META["gunicorn.socket"] = ours
    with ours:
        content = in_place(parts(), place, request)
        next(content)
        assert next(content) == b"first"
        theirs.close()
        with pytest.raises(ServiceUnavailable):
            next(content)
    assert (ended, place.released) == ([True], 1)
