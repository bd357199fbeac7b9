"""
The live stream: a plain ASGI application (https://asgi.readthedocs.io/en/latest/specs/www.html).

Django's own ASGI stack would cost a thread per request. Here a viewer is a coroutine that waits for its queue; its
rights are in a signed token that a page of the dashboard issues.

    GET /events?token=…&after=sub_…     an event stream; `Last-Event-ID` takes precedence over `after`
    GET /healthz                        200 while this process answers; counts polls that fail in a row
"""

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.db import Error as DatabaseError

from config.base.ids import InvalidId, Prefix, decode_id, encode_id
from keys.seen_forms import SeenForms
from submissions.live.hub import Hub, Viewer
from submissions.live.rights import is_over_share, seen_by
from submissions.live.tokens import BadToken, Watch, read_token, server_sent

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

HEARTBEAT_SECONDS = 15.0  # proxies end connections that are silent for longer than a minute
LAST_WORDS_SECONDS = 5.0  # for a slow reader, after the token has expired
HELLO = b"retry: 2000\n\n: watching\n\n"  # milliseconds until a browser reconnects
HEARTBEAT = b": still here\n\n"
END = server_sent("end")
LATER = (b"retry-after", b"10")
_parts = urlsplit(settings.PUBLIC_URL)
ORIGIN = f"{_parts.scheme}://{_parts.netloc}".encode()

hub = Hub()


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        return
    is_check = scope["path"] == "/healthz"
    if scope["method"] != "GET" and not (is_check and scope["method"] == "HEAD"):  # a HEAD has no use for a stream
        await _refuse(send, 405, "method_not_allowed", "Watch with GET.", (b"allow", b"GET"))
    elif is_check:
        await answer(send, 200, b"text/plain", f"failed polls: {hub.failed}".encode() if hub.failed else b"ok")
    elif scope["path"] == "/events":
        await _watch(scope, receive, send)
    else:
        await _refuse(send, 404, "not_found", "There is nothing here. The live stream is at /events.")


async def _watch(scope: Scope, receive: Receive, send: Send) -> None:
    try:
        query = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=10)
        watch = read_token(query.get("token", [""])[0])
    except (BadToken, ValueError) as error:
        text = str(error) if isinstance(error, BadToken) else "The token is not one of ours."
        await _refuse(send, 401, "invalid_token", text)
        return
    seen = await _seen_or_refusal(watch)
    if isinstance(seen, tuple):
        await _refuse(send, *seen)
        return
    last_seen = dict(scope["headers"]).get(b"last-event-id", b"").decode("latin-1") or query.get("after", [""])[0]
    viewer = hub.add(watch, _submission_id(last_seen), seen)
    pump = asyncio.ensure_future(_pump(viewer, watch, send))
    left = asyncio.ensure_future(gone(receive))
    try:
        # The token also expires for a client that reads nothing: the pump waits for room then, and checks no clock.
        patience = max(0, watch.expires - time.time()) + LAST_WORDS_SECONDS
        await asyncio.wait({pump, left}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hub.remove(viewer)
        for task in (pump, left):
            task.cancel()
            with suppress(asyncio.CancelledError, OSError, RuntimeError):  # the client has left
                await task


async def _seen_or_refusal(watch: Watch) -> SeenForms | tuple[Any, ...]:
    """Return the forms that a viewer with a valid token sees, or the arguments of their refusal."""
    try:
        seen = await seen_by(watch)
        if seen is None:
            return 401, "invalid_token", "You are logged out, or no longer a member. Log in again."
    except DatabaseError:
        return 503, "service_unavailable", "The database is unavailable. Try again soon.", LATER
    # After the wait, without another one before the viewer is added: two at the same time must not both pass.
    if is_over_share(watch, [viewer.watch for viewer in hub.viewers]):
        return 429, "rate_limited", "You or your organization have too many live views open. Close one.", LATER
    if len(hub.viewers) >= settings.EVENTS_MAX_VIEWERS:
        return 503, "service_unavailable", "Too many are watching. Try again soon.", LATER
    return seen


async def _pump(viewer: Viewer, watch: Watch, send: Send) -> None:
    """Send the messages in the viewer's queue until the token expires."""
    loop = asyncio.get_running_loop()
    end = loop.time() + max(0, watch.expires - time.time())
    await start(send)
    while (left := end - loop.time()) > 0:
        try:
            message = await asyncio.wait_for(viewer.queue.get(), min(left, HEARTBEAT_SECONDS))
        except TimeoutError:
            if loop.time() >= end:
                continue
            message = position_line(viewer) + HEARTBEAT
        if message is None:
            break
        await part(send, message)
    else:
        await part(send, position_line(viewer) + END)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def start(send: Send) -> None:
    """Begin to answer with an event stream."""
    headers = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no"), *_common_headers()]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await part(send, HELLO)


async def part(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


def position_line(viewer: Viewer) -> bytes:
    """Return the `id` with which a page reconnects, even if it was sent nothing; empty while messages are queued."""
    return f"id: {encode_id(Prefix.SUBMISSION, hub.position(viewer))}\n".encode() if viewer.queue.empty() else b""


async def gone(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _submission_id(text: str) -> uuid.UUID | None:
    try:
        return decode_id(Prefix.SUBMISSION, text)
    except InvalidId:
        return None


def _common_headers() -> list[tuple[bytes, bytes]]:
    # Only for our own pages, and without a cookie: the token grants access.
    return [
        (b"cache-control", b"no-store"),
        (b"access-control-allow-origin", ORIGIN),
        (b"vary", b"Origin"),
        (b"x-content-type-options", b"nosniff"),
    ]


async def _refuse(send: Send, status: int, code: str, message: str, *headers: tuple[bytes, bytes]) -> None:
    body = json.dumps({"success": False, "error": code, "message": message}).encode()
    await answer(send, status, b"application/json", body, *headers)


async def answer(send: Send, status: int, kind: bytes, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    sent = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *_common_headers(), *headers]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})
