"""
Bodies with files, in unnamed temporary files: they cost the disk, not memory.

The connection of such a body is read in its turns only. A turn is one read of its socket, at most uvloop's buffer of
256,000 bytes, which a thread then writes in pieces. So TURNS reads are in memory, however many bodies arrive, and other
requests come in between. A connection joins the queue for a turn when something has come: slow clients hold none.
"""

import asyncio
import contextlib
import select
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from typing import IO, Any

from django.conf import settings

from config.web_server.bodies import Disconnected, TooSlow
from config.web_server.body import Body, most_in_file
from config.web_server.connection import CONNECTION, CYCLE, Connection
from config.web_server.threads import Threads

TURNS = 4
WRITERS = 2  # threads
PIECE_BYTES = 64 * 1024  # of one write
MAX_SPOOLED = 500  # bodies in files, in one process; each takes an open file
MAX_OF_A_SENDER = 100  # of them, so that one slow client with many connections leaves room for others
MAX_SPOOLED_BYTES = 4 * 1024 * 1024 * 1024  # of all of them


class NoRoom(Exception):
    """The disk is full, or too many bodies are in files, all together or of one sender: 503."""


class TooLargeForFile(Exception):
    """The body, which did not say its length, is larger than any: 413."""


class SpooledBody:
    """A body in a file: `file`, at its start when it is whole, and `size` in bytes."""

    def __init__(self, sender: str = "") -> None:
        self.sender = sender
        self.file: IO[bytes]
        self.size = 0
        self._lock = threading.Lock()  # a file that is closed during a write gives its number to another one

    def __len__(self) -> int:
        return self.size

    def open(self) -> None:
        """Make the file. Blocks; raises OSError."""
        self.file = open_unnamed_file()

    def write(self, part: bytearray) -> None:
        """Write a part. Blocks; raises OSError."""
        with self._lock, memoryview(part) as view:
            start = 0
            while start < len(part):
                start += self.file.write(view[start : start + PIECE_BYTES])

    def close(self) -> None:
        """Free the file. Blocks."""
        with self._lock:
            self.file.close()


def open_unnamed_file() -> IO[bytes]:
    """Return a file without a name, where files are stored or, if that cannot be written, where the system has them."""
    try:
        settings.FILES_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        return tempfile.TemporaryFile(dir=settings.FILES_DIR, buffering=0)
    except OSError:
        return tempfile.TemporaryFile(buffering=0)


class Spool:
    """The bodies in files of one process. Make it in the event loop."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(TURNS)
        self._writers = Threads(WRITERS, "spool")
        self._readiness = Readiness()
        self._arriving: dict[Body, None] = {}  # oldest first
        self._open: Counter[str] = Counter()  # by sender
        self._bytes = 0

    async def read(self, scope: Any, begin: bytes, sender: str = "") -> SpooledBody:
        """
        Return the body, of which `begin` has been read. `sender`: the `client_network` of the request.

        Raises TooSlow, Disconnected, NoRoom and TooLargeForFile.
        """
        if self._open.total() >= MAX_SPOOLED or self._open[sender] >= MAX_OF_A_SENDER:
            raise NoRoom
        spooled = SpooledBody(sender)
        self._open[sender] += 1
        is_open = False
        try:
            await self._writers.call(spooled.open)
            is_open = True
            await self._fill(scope, spooled, begin)
            await self._writers.call(spooled.file.seek, 0)
        except BaseException as error:
            self._forget(spooled)
            if is_open:
                self._writers.call(spooled.close)
            if isinstance(error, OSError):
                raise NoRoom from error
            raise
        return spooled

    def done(self, spooled: SpooledBody) -> None:
        """Free a body whose request has been answered."""
        self._forget(spooled)
        self._writers.call(spooled.close)

    def _forget(self, spooled: SpooledBody) -> None:
        self._open[spooled.sender] -= 1
        if not self._open[spooled.sender]:
            del self._open[spooled.sender]
        self._bytes -= spooled.size

    async def _fill(self, scope: Any, spooled: SpooledBody, begin: bytes) -> None:
        connection: Connection = scope["extensions"][CONNECTION]
        cycle = scope["extensions"][CYCLE]
        something = asyncio.Event()
        body = connection.body = Body(something.set, 0, is_in_turns=True)
        connection.pause()
        self._arriving[body] = None
        number = connection.transport.get_extra_info("socket").fileno()
        try:
            async with self._turns:
                await self._add(spooled, body, bytearray(begin) + _take(cycle))
            if cycle.more_body and cycle.waiting_for_100_continue:
                cycle.waiting_for_100_continue = False
                connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            while cycle.more_body:
                await self._wait_for_more(scope, body, something, number)
                async with self._turns:
                    something.clear()
                    if cycle.more_body and not cycle.disconnected and not body.was_cut:
                        connection.read_on()
                        await something.wait()
                        connection.pause()
                    await self._add(spooled, body, _take(cycle))
        finally:
            self._readiness.disarm(number, something.set)
            del self._arriving[body]
            connection.body = None

    async def _wait_for_more(self, scope: Any, body: Body, something: asyncio.Event, number: int) -> None:
        """Wait until the client has sent something. Raises TooSlow and Disconnected."""
        connection: Connection = scope["extensions"][CONNECTION]
        cycle = scope["extensions"][CYCLE]
        while True:
            something.clear()
            if cycle.disconnected:
                raise Disconnected
            if body.was_cut:
                raise TooSlow
            if not cycle.more_body or (connection.has_unread() and not connection.is_refused):
                return
            self._readiness.arm(number, something.set)
            await something.wait()

    async def _add(self, spooled: SpooledBody, body: Body, part: bytearray) -> None:
        body.received += len(part)
        spooled.size += len(part)
        self._bytes += len(part)
        if spooled.size > most_in_file():
            raise TooLargeForFile
        if self._bytes > MAX_SPOOLED_BYTES:
            next(iter(self._arriving)).cut()
        if part:
            await self._writers.call(spooled.write, part)


def _take(cycle: Any) -> bytearray:
    """Return what has been read of the body since the last call."""
    part: bytearray = cycle.body
    cycle.body = bytearray()
    return part


class Readiness:
    """Wakes those who wait for sockets that the event loop does not read, because they are paused."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._wakes: dict[int, Callable[[], object]] = {}
        asyncio.get_running_loop().add_reader(self._epoll.fileno(), self._tell)

    def arm(self, number: int, wake: Callable[[], object]) -> None:
        """Call `wake` once when the socket with this file descriptor has something."""
        events = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLONESHOT
        self._wakes[number] = wake
        try:
            self._epoll.register(number, events)
        except FileExistsError:
            self._epoll.modify(number, events)

    def disarm(self, number: int, wake: Callable[[], object]) -> None:
        """Forget a socket. It may be closed by now, and its number another one's."""
        if self._wakes.get(number) != wake:
            return
        del self._wakes[number]
        with contextlib.suppress(OSError, ValueError):
            self._epoll.unregister(number)

    def _tell(self) -> None:
        for number, _events in self._epoll.poll(0):
            if wake := self._wakes.get(number):
                wake()
