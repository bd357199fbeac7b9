"""
One client's connection: uvicorn's HTTP/1.1 over httptools, with bounds on time and memory for slow clients.

Every bound is checked by one sweep a second over all connections (`config/web_server/server.py`), so that a quick
request costs no timer. The parser itself refuses a Content-Length next to `Transfer-Encoding: chunked`, and two
different lengths, with 400.
"""

import contextlib
import select
import socket
import struct
import time
from typing import Any

from django.conf import settings
from httptools import HttpParserError
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from config.web_server.body import Body

CONNECTION, CYCLE = "fieldpost.connection", "fieldpost.cycle"  # keys of the ASGI scope's extensions
MAX_HEAD_BYTES = 64 * 1024  # request line and headers; the parser sets no limit
MAX_HEADERS = 100
MAX_PIPELINED = 16  # requests that wait on one connection
LINGER_SECONDS = 1.0  # for which a refused client may go on to send
MAX_DROPPED_BYTES = 16 * 1024 * 1024  # that it sends meanwhile; then it has to wait
MIN_PROGRESS_BYTES = 16 * 1024  # that a reader takes within READER_SECONDS
IDLE_SECONDS = 0.3  # for which an ending process still answers on a connection without a request
END_SECONDS = 0.2  # for which the client may then close it; together less than Ctrl-C gives a process


class Connection(HttpToolsProtocol):
    """A connection of the web role. `body`: the one that it is being read from, if any."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.body: Body | None = None
        self._is_refused = False
        self._dropped_bytes = 0
        self._idle_since: float | None = None  # set while the process ends
        self._head_bytes = 0
        self._head_since: float | None = time.monotonic()  # None while no head is being read
        self._unread = 0  # bytes that waited for the client at `_unread_since`
        self._unread_since = 0.0

    def data_received(self, data: bytes) -> None:
        """Feed the parser, unless the head has become too large. Refuse anything but HTTP with 400."""
        if self._is_refused:
            self._drop(len(data))
            return
        if self._head_since is not None or self.cycle is None or self.cycle.response_complete:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_since is not None and self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(b"431 Request Header Fields Too Large")
        if self.body is not None and self.body.is_in_turns:
            if not self._is_refused:
                self.pause()  # until its next turn
            self.body.wake()

    def _drop(self, size: int) -> None:
        self._dropped_bytes += size
        if self._dropped_bytes > MAX_DROPPED_BYTES:
            self.pause()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake the reader of the body."""
        super().connection_lost(exc)
        if self.body is not None:
            self.body.wake()

    @property
    def is_refused(self) -> bool:
        """Whether what still comes is dropped."""
        return self._is_refused

    def pause(self) -> None:
        """Read no more until `read_on`."""
        if not self.transport.is_closing():
            self.flow.pause_reading()

    def read_on(self) -> None:
        """Read again."""
        if not self.transport.is_closing():
            self.flow.resume_reading()

    def linger(self) -> None:
        """
        Close the connection after an answer to a body that was not read.

        Data that is still coming is dropped for a moment: an immediate close would be a reset, and hide the answer.
        """
        if self._is_refused or self.transport.is_closing():
            return
        self._is_refused = True
        self.read_on()
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # uvicorn calls it
        """Refuse what the parser does not understand."""
        self._refuse(b"400 Bad Request")

    def _refuse(self, status: bytes) -> None:
        """Answer without the application, and close. Data that is still coming is dropped, so that the client reads."""
        if self._is_refused or self.transport.is_closing():
            return
        self._is_refused = True
        self.transport.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def on_message_begin(self) -> None:
        """Start a request."""
        super().on_message_begin()
        self._head_since = time.monotonic()
        self.scope["extensions"] = {CONNECTION: self}  # type: ignore[dict-item]  # typed for what ASGI names

    def on_header(self, name: bytes, value: bytes) -> None:
        """
        Add a header, unless its name has an underscore or it is a trailer.

        WSGI writes `X_Forwarded_For` and `X-Forwarded-For` the same way, so a client could replace what a proxy set.
        """
        if self._head_since is None or b"_" in name:
            return
        if len(self.headers) >= MAX_HEADERS:
            raise HttpParserError("too many headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the application. Also for an upgrade, which is ignored; the rest of such a connection is not read."""
        self._head_since = None
        self._head_bytes = 0
        if len(self.pipeline) >= MAX_PIPELINED:
            raise HttpParserError("too many pipelined requests")
        super().on_headers_complete()
        self.scope["extensions"][CYCLE] = self.cycle  # type: ignore[assignment]  # typed for what ASGI names
        if self.parser.should_upgrade() or self._idle_since is not None:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """
        End the connection, because the process ends; called until it is closed.

        The next answer says `Connection: close`. Without a request for IDLE_SECONDS the connection is closed by halves:
        a close with unread bytes would be a reset, and a request may be on its way.
        """
        now = time.monotonic()
        if self.cycle is not None and not self.cycle.response_complete:
            self._idle_since = now
            if not self.cycle.response_started:  # else its head has promised to keep the connection
                self.cycle.keep_alive = False
        elif self._idle_since is None:
            self._idle_since = now
        elif now - self._idle_since > IDLE_SECONDS and not (self._is_refused or self._head_bytes or self.has_unread()):
            self._is_refused = True
            self.transport.write_eof()
            self.loop.call_later(END_SECONDS, self.transport.close)

    def has_unread(self) -> bool:
        """Return whether the system has bytes that the event loop has not read yet."""
        with contextlib.suppress(OSError, ValueError):  # it is closed already
            poll = select.poll()
            poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
            return bool(poll.poll(0))
        return False

    def resume_writing(self) -> None:
        """Note that the client has taken nearly everything that waited for it."""
        super().resume_writing()
        self._unread = 0

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: any client can ask for an upgrade."""

    def check(self, now: float) -> None:
        """Cut the connection if its client is too slow: with its head, its body, or with reading the response."""
        if self._head_since is not None and now - self._head_since > settings.HEAD_SECONDS:
            self.transport.abort()
        elif self.body is not None and self.body.is_too_slow(now):
            self.body.cut()
        self._check_reader(now)

    def _check_reader(self, now: float) -> None:
        waiting = self.transport.get_write_buffer_size()
        if not waiting:
            self._unread = 0
        elif not self._unread or waiting <= self._unread - MIN_PROGRESS_BYTES or waiting > self._unread:
            self._unread, self._unread_since = waiting, now
        elif now - self._unread_since > settings.READER_SECONDS:
            self.cut()

    def cut(self) -> None:
        """Reset the connection. An ordinary close would keep what the client has not read, in the system's memory."""
        with contextlib.suppress(OSError):  # it is closed already
            peer = self.transport.get_extra_info("socket")
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()
