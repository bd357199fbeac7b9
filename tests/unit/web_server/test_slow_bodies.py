"""The deadline of a request body, and the bound on the memory of all that arrive."""

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from config.web_server import bodies
from config.web_server.bodies import Bodies, NotWaitedFor, TooSlow
from config.web_server.body import Body
from config.web_server.connection import CONNECTION, CYCLE, Connection
from config.web_server.server import cut_unread

LIMIT = 256 * 1024  # bytes


@pytest.mark.parametrize(
    ("seconds", "received", "is_too_slow"),
    [(29, 0, False), (31, 19_000, True), (31, 21_000, False), (40, 190_000, True), (40, 210_000, False)],
)
def test_body__after_so_long_with_so_much__is_too_slow_or_not(seconds: int, received: int, is_too_slow: bool) -> None:
    body = Body(lambda: None, 1_000_000)
    body.received = received

    assert body.is_too_slow(time.monotonic() + seconds) is is_too_slow


class Sender:
    """A client that sends these parts and then nothing. `wake` is what the server calls when it is time to decide."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = list(parts)
        self._woken = asyncio.Event()
        cycle = SimpleNamespace(message_event=SimpleNamespace(set=self._woken.set))
        self.scope = {"path": "/api/submit", "extensions": {CONNECTION: SimpleNamespace(body=None), CYCLE: cycle}}

    async def receive(self) -> dict[str, Any]:
        if not self._parts:
            await self._woken.wait()
            self._woken.clear()
        body = self._parts.pop(0) if self._parts else b""
        return {"type": "http.request", "body": body, "more_body": True}

    def read(self, waiting: Bodies) -> "asyncio.Task[bytes]":
        first = {"type": "http.request", "body": b"", "more_body": True}
        return asyncio.ensure_future(waiting.read(self.scope, self.receive, first))


def answering(answer: bool) -> Callable[[Any], Any]:
    async def may_wait(_scope: Any) -> bool:
        return answer

    return may_wait


def test_bodies__over_the_memory_for_all__lose_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_WAITING_BYTES", 100)

    async def run() -> list[bool]:
        waiting = Bodies(answering(True))
        tasks = [Sender(b"x" * 40).read(waiting) for _ in range(3)]
        with pytest.raises(TooSlow):
            await asyncio.wait_for(tasks[0], 5)
        return [task.done() for task in tasks[1:]]

    assert asyncio.run(run()) == [False, False]


def test_body__larger_than_allowed__is_kept_up_to_one_byte_more_and_drained() -> None:
    async def run() -> bytes:
        return await Sender(*[b"x" * 100_000] * 11).read(Bodies(answering(True)))

    assert len(asyncio.run(run())) == LIMIT + 1


def test_body__of_a_refused_request__is_given_up_after_a_moment() -> None:
    async def run() -> None:
        await asyncio.wait_for(Sender(b"x").read(Bodies(answering(False))), 5)

    with pytest.raises(NotWaitedFor):
        asyncio.run(run())


class Unread:
    """A connection whose client has not read so many bytes. `is_cut`: whether it was aborted."""

    def __init__(self, size: int) -> None:
        self.is_cut = False
        self.transport = SimpleNamespace(get_write_buffer_size=lambda: size)

    def cut(self) -> None:
        self.is_cut = True


def test_unread_responses__over_the_memory_for_all__lose_the_largest() -> None:
    connections = [Unread(size) for size in (30, 50, 0, 40)]

    cut_unread(cast(list[Connection], connections), 70)

    assert [connection.is_cut for connection in connections] == [False, True, False, False]
