"""
Reading request bodies in the event loop, so that a slow one holds memory only, and bounded memory.

A body has BODY_SECONDS, and longer only while it comes at BODY_BYTES_PER_SECOND or more. All bodies together hold at
most MAX_WAITING_BYTES: beyond it, the one that has been coming for the longest is cut.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from config.api.parsing import MAX_DRAINED_BYTES
from config.web_server.body import Body, most_bytes, says_length, takes_files
from config.web_server.connection import CONNECTION, CYCLE

GRACE_SECONDS = 0.2  # for which any body is waited for; then limits are looked up
MAX_WAITING_BYTES = 64 * 1024 * 1024  # of one process
Receive = Callable[[], Awaitable[Any]]


class TooSlow(Exception):
    """The body did not arrive in time, or others needed its memory: 408."""


class NotWaitedFor(Exception):
    """Limits refuse the request whatever its body is."""


class Disconnected(Exception):
    """The client has closed the connection."""


class TooLargeForMemory(Exception):
    """The body goes to a file. `begin`: what has arrived of it."""

    def __init__(self, begin: bytes) -> None:
        super().__init__("the body goes to a file")
        self.begin = begin


class Bodies:
    """The bodies that one process waits for. `may_wait(scope)`: whether to wait for the rest of one."""

    def __init__(self, may_wait: Callable[[Any], Awaitable[bool]]) -> None:
        self._may_wait = may_wait
        self._arriving: dict[Body, None] = {}  # oldest first
        self._bytes = 0

    async def read(self, scope: Any, receive: Receive, message: Any) -> bytes:
        """
        Return the body that starts with `message`, of which more is to come.

        Raises NotWaitedFor if limits refuse the request whatever its body is, TooSlow and Disconnected, and
        TooLargeForMemory where a body may go to a file.
        Of a body that is too large only the part that shows it is returned; the rest is read, up to a bound, because a
        client that is still sending would not see the response.
        """
        connection = scope["extensions"][CONNECTION]
        wake = scope["extensions"][CYCLE].message_event.set
        body = connection.body = Body(wake, most_bytes(scope["path"]))
        # Of a body without Content-Length it is known only now; others went to a file before they were read.
        may_go_to_file = takes_files(scope) and not says_length(scope)
        self._arriving[body] = None
        question = asyncio.get_running_loop().call_later(GRACE_SECONDS, body.ask)
        try:
            self._take(body, message["body"], is_whole=may_go_to_file)
            while message["more_body"] and body.received <= (body.most if may_go_to_file else MAX_DRAINED_BYTES):
                message = await receive()
                if body.was_cut:
                    raise TooSlow
                if message["type"] != "http.request":
                    raise Disconnected
                self._take(body, message["body"], is_whole=may_go_to_file)
                if body.is_asked and message["more_body"]:
                    body.is_asked = False
                    if not await self._may_wait(scope):
                        raise NotWaitedFor
            if may_go_to_file and body.received > body.most:
                raise TooLargeForMemory(bytes(body.data))
            return bytes(body.data)
        finally:
            question.cancel()
            del self._arriving[body]
            self._bytes -= len(body.data)
            connection.body = None

    def _take(self, body: Body, part: bytes, *, is_whole: bool) -> None:
        body.received += len(part)
        kept = part if is_whole else part[: body.most + 1 - len(body.data)]
        body.data += kept
        self._bytes += len(kept)
        if self._bytes > MAX_WAITING_BYTES:
            next(iter(self._arriving)).cut()
