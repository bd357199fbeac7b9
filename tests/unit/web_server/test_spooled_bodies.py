"""Bodies in files: their bounds, and that their files are freed. A connection of a socket pair stands for a client."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from config.web_server import spool as spooling
from config.web_server.bodies import Disconnected, TooSlow
from config.web_server.body import Body, is_large, most_in_file, takes_files
from config.web_server.connection import CONNECTION, CYCLE
from config.web_server.spool import NoRoom, Spool, SpooledBody, TooLargeForFile
from tests.services.waiting import reached

KIB = 1024
OPEN = ExitStack()  # the connections of a test
MADE: list[SpooledBody] = []  # its files


@pytest.fixture(autouse=True)
def _made(monkeypatch: pytest.MonkeyPatch) -> None:
    MADE.clear()
    really_open = SpooledBody.open

    def noting(spooled: SpooledBody) -> None:
        really_open(spooled)
        MADE.append(spooled)

    monkeypatch.setattr(SpooledBody, "open", noting)


class Peer:
    """Both ends of a connection: `send` is the client's, the rest is what the web server's connection offers."""

    def __init__(self) -> None:
        self._client, self._server = socket.socketpair()
        OPEN.callback(self._client.close)
        OPEN.callback(self._server.close)
        self._server.setblocking(False)  # the only form that it has
        self.body: Body | None = None
        self.is_refused = False
        self.reads = 0
        self.cycle = SimpleNamespace(
            body=bytearray(), more_body=True, disconnected=False, waiting_for_100_continue=False
        )
        self.transport = SimpleNamespace(get_extra_info=lambda _name: self._server)
        self.scope = {"extensions": {CONNECTION: self, CYCLE: self.cycle}}

    def send(self, part: bytes) -> None:
        self._client.sendall(part)

    def has_unread(self) -> bool:
        try:
            return bool(self._server.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return False

    def pause(self) -> None:
        """Nothing is read but in `read_on`."""

    def read_on(self) -> None:
        self.reads += 1
        self.cycle.body += self._server.recv(64 * KIB)
        assert self.body
        self.body.wake()

    def end(self, *, is_gone: bool = False) -> None:
        self.cycle.more_body, self.cycle.disconnected = is_gone, is_gone
        if self.body:
            self.body.wake()


def run(scenario: Callable[[Spool], Awaitable[None]]) -> None:
    async def within() -> None:
        spool = Spool()
        await asyncio.wait_for(scenario(spool), 20)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await reached(lambda: all(spooled.file.closed for spooled in MADE))
        await asyncio.sleep(0.05)  # for which a thread says so

    with OPEN:
        asyncio.run(within())


def test_body__that_comes_in_parts__is_in_the_file_whole() -> None:
    async def scenario(spool: Spool) -> None:
        peer = Peer()
        reading = asyncio.ensure_future(spool.read(peer.scope, b"begin "))
        await reached(lambda: peer.body is not None)
        peer.send(b"middle ")
        await reached(lambda: peer.reads == 1)
        peer.cycle.more_body = False
        peer.send(b"end")  # not a part of it any more
        peer.end()
        spooled = await reading
        assert (spooled.file.read(), spooled.size, len(spooled)) == (b"begin middle ", 13, 13)
        spool.done(spooled)
        await reached(lambda: spooled.file.closed)

    run(scenario)


def test_client__that_sends_nothing__is_not_read() -> None:
    async def scenario(spool: Spool) -> None:
        silent = [Peer() for _ in range(3 * spooling.TURNS)]
        waiting = [asyncio.ensure_future(spool.read(peer.scope, b"")) for peer in silent]
        await reached(lambda: all(peer.body for peer in silent))
        assert not any(task.done() for task in waiting)
        busy = Peer()
        reading = asyncio.ensure_future(spool.read(busy.scope, b""))
        await reached(lambda: busy.body is not None)
        busy.send(b"x")
        await reached(lambda: busy.reads == 1)  # although more wait than there are turns
        busy.end()
        spool.done(await reading)
        assert [peer.reads for peer in silent] == [0] * len(silent)

    run(scenario)


def test_bodies__over_the_disk_for_all__lose_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooling, "MAX_SPOOLED_BYTES", 100 * KIB)

    async def scenario(spool: Spool) -> None:
        tasks = []
        for _ in range(3):
            peer = Peer()
            tasks.append(asyncio.ensure_future(spool.read(peer.scope, b"x" * 40 * KIB)))
            await reached(lambda peer=peer: peer.body is not None and peer.body.received > 0)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        with pytest.raises(TooSlow):
            await tasks[0]
        assert [task.done() for task in tasks[1:]] == [False, False]

    run(scenario)


def test_bodies__more_than_may_be_in_files__find_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooling, "MAX_SPOOLED", 1)

    async def scenario(spool: Spool) -> None:
        first = Peer()
        reading = asyncio.ensure_future(spool.read(first.scope, b"x"))
        await reached(lambda: first.body is not None)
        with pytest.raises(NoRoom):
            await spool.read(Peer().scope, b"x")
        first.end()
        spool.done(await reading)
        third = Peer()
        third.end()
        spool.done(await spool.read(third.scope, b"x"))  # there is room again

    run(scenario)


def test_bodies__more_than_one_sender_may_have__leave_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooling, "MAX_OF_A_SENDER", 1)

    async def scenario(spool: Spool) -> None:
        slow, quick, later = Peer(), Peer(), Peer()
        reading = asyncio.ensure_future(spool.read(slow.scope, b"x", "192.0.2.1"))
        await reached(lambda: slow.body is not None)
        with pytest.raises(NoRoom):
            await spool.read(Peer().scope, b"x", "192.0.2.1")
        quick.end()
        spool.done(await spool.read(quick.scope, b"x", "192.0.2.2"))
        slow.end()
        spool.done(await reading)
        later.end()
        spool.done(await spool.read(later.scope, b"x", "192.0.2.1"))

    run(scenario)


@pytest.mark.parametrize("outcome", ["gone", "cut", "too large", "disk full"])
def test_body__that_is_not_whole_in_the_end__frees_its_file(outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooling, "most_in_file", lambda: 100)
    expected = {"gone": Disconnected, "cut": TooSlow, "too large": TooLargeForFile, "disk full": NoRoom}

    async def scenario(spool: Spool) -> None:
        peer = Peer()
        reading = asyncio.ensure_future(spool.read(peer.scope, b"x"))
        await reached(lambda: peer.body is not None and peer.body.received > 0)
        assert peer.body
        if outcome == "gone":
            peer.end(is_gone=True)
        elif outcome == "cut":
            peer.body.cut()
        elif outcome == "too large":
            peer.send(b"x" * 100)
        else:
            MADE[0].file.close()  # writing to it fails
            MADE[0].file = open("/dev/full", "wb", buffering=0)  # noqa: PTH123, SIM115  # the body closes it
            peer.send(b"x")
        with pytest.raises(expected[outcome]):
            await reading
        await reached(lambda: MADE[0].file.closed)

    run(scenario)


@pytest.mark.parametrize(
    ("method", "path", "length", "is_it"),
    [
        ("POST", "/f/frm_a", 256 * KIB + 1, True),
        ("POST", "/f/frm_a", 256 * KIB, False),
        ("POST", "/f/frm_a/", 300 * KIB, True),
        ("POST", "/f/frm_a/uploads", 300 * KIB, True),
        ("POST", "/api/uploads", 300 * KIB, True),
        ("POST", "/submit", 300 * KIB, True),
        ("POST", "/s/frm_a", 300 * KIB, True),
        ("POST", "/p/1/f/frm_a", 300 * KIB, True),
        ("POST", "/ajax/frm_a", 300 * KIB, True),
        ("POST", "/frm_a", 300 * KIB, True),
        ("POST", "/f/frm_a", 300 * KIB * KIB, False),
        ("PUT", "/f/frm_a", 300 * KIB, False),
        ("POST", "/api/submit", 300 * KIB, False),
        ("POST", "/f/frm_a/report", 300 * KIB, False),
        ("POST", "/dashboard/f/frm_a", 300 * KIB, False),
        ("POST", "/", 300 * KIB, False),
    ],
)
def test_body__of_a_path_and_a_length__goes_to_a_file_or_not(method: str, path: str, length: int, is_it: bool) -> None:
    head = [(b"content-type", b"Multipart/Form-Data; boundary=x"), (b"content-length", str(length).encode())]
    scope: Any = {"method": method, "path": path, "headers": head}

    assert is_large(scope) is is_it
    assert is_it <= takes_files(scope)
    assert most_in_file() == 256 * KIB * KIB + 256 * KIB


@pytest.mark.parametrize("media_type", [b"application/json", b"application/x-www-form-urlencoded", b"text/plain", b""])
def test_body__that_can_hold_no_files__is_written_to_none(media_type: bytes) -> None:
    head = [(b"content-type", media_type), (b"content-length", b"300000")]

    assert not takes_files({"method": "POST", "path": "/f/frm_a", "headers": head})
    assert not takes_files({"method": "POST", "path": "/f/frm_a", "headers": head[1:]})


@pytest.mark.parametrize("length", [b"", b"-1", b"1e9", b"9" * 5_000])
def test_length__that_makes_no_sense__is_not_large(length: bytes) -> None:
    head = [(b"content-type", b"multipart/form-data; boundary=x"), (b"content-length", length)]

    assert not is_large({"method": "POST", "path": "/f/frm_a", "headers": head})
