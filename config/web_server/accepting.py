"""
Accepting connections one at a time, so that the web processes of a host share them.

The loop's own server accepts all that wait: one process would take a whole burst, and keep it while its
connections live.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

TURN_SECONDS = 0.001  # after an accepted connection, for the other processes; one answers fewer requests a second
PAUSE_SECONDS = 1.0  # without a free file or memory for one more connection
EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

logger = logging.getLogger(__name__)


class Acceptor:
    """Accepts from a listening socket, in turn with all other work of the loop. `protocol()` makes a connection's."""

    def __init__(self, listener: socket.socket, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._listener = listener
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._connecting: set[asyncio.Task[object]] = set()  # the loop itself keeps no reference
        self._is_closed = False
        listener.setblocking(False)
        self._resume()

    def close(self) -> None:
        """Accept no more."""
        self._is_closed = True
        self._loop.remove_reader(self._listener.fileno())

    async def wait_closed(self) -> None:
        """Return when accepted connections have their protocol."""
        await asyncio.gather(*self._connecting, return_exceptions=True)

    def _resume(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._listener.fileno(), self._accept)

    def _accept(self) -> None:
        """Accept one connection, unless another process was quicker or its client has left."""
        try:
            accepted, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            if error.errno not in EXHAUSTED:
                raise
            logger.error("no connection can be accepted: %s", error)
            self._pause(PAUSE_SECONDS)
            return
        self._pause(TURN_SECONDS)
        accepted.setblocking(False)
        task = self._loop.create_task(self._connect(accepted))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener.fileno())
        self._loop.call_later(seconds, self._resume)

    async def _connect(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._protocol, accepted)
        except OSError:  # the client has left
            accepted.close()
