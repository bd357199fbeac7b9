"""
The ASGI application in front of Django: bodies and responses in the event loop, Django in threads.

A thread is held only while Django works: never by a client that sends or reads slowly.
"""

import contextlib
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from django.http import HttpRequest
from uuid_utils.compat import uuid4
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT

from config.api.errors import NO_STORE
from config.client_address import client_network
from config.web_server import wsgi_bridge
from config.web_server.bodies import Bodies, Disconnected, NotWaitedFor, TooLargeForMemory, TooSlow
from config.web_server.body import is_large
from config.web_server.connection import CONNECTION, CYCLE
from config.web_server.health import Health
from config.web_server.spool import NoRoom, Spool, SpooledBody, TooLargeForFile
from config.web_server.threads import Threads
from config.web_server.wsgi_bridge import Answer, Application

THREADS = 8  # for Django, per process; each has its own database connection
UPLOAD_THREADS = 4  # for Django too, of requests whose body is in a file: they take long, and hold none of the others
STREAM_THREADS = 8  # that wait for parts of streams
MAX_WAITING = 1_000  # requests that wait for a thread
REFUSALS: dict[type[Exception], tuple[int, str, str]] = {
    TooSlow: (408, "request_timeout", "The request body did not arrive in time. Send it again."),
    NoRoom: (503, "service_unavailable", "The service is busy. Try again in a few seconds."),
    TooLargeForFile: (413, "payload_too_large", "The body is too large. Send less."),
}
BODY_HEADERS = (b"content-length", b"transfer-encoding")
Send = Callable[[Any], Awaitable[None]]
MayWait = Callable[[dict[str, Any], bool], bool]
logger = logging.getLogger(__name__)


class Front:
    """
    `may_wait(environ, is_large)`: whether to wait for the rest of a body, or to read a large one at all. It blocks, so
    it runs in a thread.
    """

    def __init__(self, application: Application, may_wait: MayWait) -> None:
        self._application = application
        self._may_wait = may_wait
        self._bodies = Bodies(self._ask)
        self._health: Health
        self._spool: Spool
        self._threads: Threads
        self._upload_threads: Threads
        self._stream_threads: Threads

    def start(self) -> None:
        """Start the threads. Call it in the event loop."""
        self._health = Health(self._application)
        self._threads = Threads(THREADS, "web")
        self._upload_threads = Threads(UPLOAD_THREADS, "upload")
        self._stream_threads = Threads(STREAM_THREADS, "stream")
        self._spool = Spool()

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        if health := self._health.answer(scope):
            await _send_health(send, health)
            return
        try:
            body = await self._read(scope, receive)
        except Disconnected:
            return
        except tuple(REFUSALS) as error:
            await self._refuse(send, *REFUSALS[type(error)])
            return
        try:
            answer = await self._answer(scope, body)
        finally:
            if isinstance(body, SpooledBody):
                self._spool.done(body)
        if answer is None:
            await self._refuse(send, *REFUSALS[NoRoom])
        elif answer.body is None:
            await self._start(scope, send, answer)
            await self._stream(scope, answer, send)
        else:
            await self._send_whole(scope, send, answer)

    async def _send_whole(self, scope: Any, send: Send, answer: Answer) -> None:
        cycle, connection = scope["extensions"][CYCLE], scope["extensions"][CONNECTION]
        await self._start(scope, send, answer)
        if not cycle.more_body:
            await send({"type": "http.response.body", "body": answer.body})
            return
        cycle.keep_alive = True  # the head says "close"; uvicorn would do it now, which hides the answer
        await send({"type": "http.response.body", "body": answer.body})
        connection.linger()

    async def _start(self, scope: Any, send: Send, answer: Answer) -> None:
        if scope["extensions"][CYCLE].more_body:
            # The rest of the body is not read.
            answer.headers = [*(pair for pair in answer.headers if pair[0] != b"connection"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})

    async def _answer(self, scope: Any, body: bytes | SpooledBody | None) -> Answer | None:
        """Return Django's answer, None if too many requests wait."""
        threads = self._upload_threads if isinstance(body, SpooledBody) else self._threads
        if threads.waiting > MAX_WAITING:
            return None
        return await threads.call(wsgi_bridge.call, self._application, scope, body)

    async def _read(self, scope: Any, receive: Any) -> bytes | SpooledBody | None:
        """
        Return the body, which usually has arrived with the head; None if the request is refused without it.

        Raises TooSlow, Disconnected, NoRoom and TooLargeForFile.
        """
        if not any(name in BODY_HEADERS for name, _ in scope["headers"]):
            return b""
        if is_large(scope):
            return await self._read_large(scope, b"")
        message = await receive()
        if message["type"] != "http.request":
            raise Disconnected
        if not message["more_body"] and len(message["body"]) <= HIGH_WATER_LIMIT:
            return bytes(message["body"])
        try:
            return await self._bodies.read(scope, receive, message)
        except NotWaitedFor:
            return None
        except TooLargeForMemory as large:
            return await self._read_large(scope, large.begin)

    async def _read_large(self, scope: Any, begin: bytes) -> SpooledBody | None:
        """Ask whether the body is wanted, then read it into a file."""
        scope["extensions"][CONNECTION].pause()
        if not await self._ask(scope, is_large=True):
            return None
        request = HttpRequest()
        request.META = wsgi_bridge.environ_of(scope, b"")
        return await self._spool.read(scope, begin, client_network(request))

    async def _ask(self, scope: Any, *, is_large: bool = False) -> bool:
        return await self._threads.call(self._may_wait, wsgi_bridge.environ_of(scope, b""), is_large)

    async def _stream(self, scope: Any, answer: Answer, send: Send) -> None:
        """Send the parts as the client takes them. A stream that fails is cut, so that it does not look complete."""
        connection = scope["extensions"][CONNECTION]
        if scope["method"] == "HEAD":
            answer.parts = iter(())
        try:
            while (part := await self._stream_threads.call(next, answer.parts, None)) is not None:
                if part:
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                if connection.transport.is_closing():  # the client has left, or was cut
                    return
            await send({"type": "http.response.body", "body": b""})
        except Exception:
            logger.exception("a streamed response ended early")
            connection.cut()
        finally:
            with contextlib.suppress(Exception):
                await self._stream_threads.call(answer.close)

    async def _refuse(self, send: Send, status: int, code: str, message: str) -> None:
        body = json.dumps({"success": False, "error": code, "message": message}).encode()
        headers = [(b"content-type", b"application/json"), (b"connection", b"close"), (b"retry-after", b"5")]
        headers.append((b"cache-control", NO_STORE.encode()))
        headers.append((b"x-request-id", uuid4().hex.encode()))
        headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def _send_health(send: Send, answer: Answer) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body})
