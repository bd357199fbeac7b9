"""
The `events` role: streams for programs that listen with a key, and the live stream of the dashboard for all others.

    GET /events?mode=listen&formId=frm_…     `x-access-key`; `Last-Event-ID` continues an earlier stream
"""

import asyncio
import json
from contextlib import suppress
from urllib.parse import parse_qsl

from django.conf import settings
from django.db import Error as DatabaseError

from config.api.errors import ApiError, InvalidAccessKey, RateLimited, ServiceUnavailable
from submissions.live import stream as live
from submissions.live.stream import HEARTBEAT, HEARTBEAT_SECONDS, Receive, Scope, Send
from submissions.live.tokens import server_sent
from webhooks.listening.hub import POLL_SECONDS, Hub, Listener
from webhooks.listening.rights import Right, admit

PER_KEY = 10  # open streams in one process
MAX_PARAMETERS = 10
LAST_WORDS_SECONDS = 1.0
RETRY = {"Retry-After": "10"}

hub = Hub()


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    is_watched = scope["type"] == "http" and scope["path"] == "/events" and scope["method"] == "GET"
    if is_watched and ("mode", "listen") in _parameters(scope):
        await _listen(scope, receive, send)
    else:
        await live.application(scope, receive, send)


def _parameters(scope: Scope) -> list[tuple[str, str]]:
    try:
        query = scope["query_string"].decode("latin-1")
        return parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        return []


async def _listen(scope: Scope, receive: Receive, send: Send) -> None:
    try:
        listener = hub.add(await _admitted(scope))
    except ApiError as refusal:
        headers = [(name.lower().encode(), value.encode()) for name, value in refusal.headers.items()]
        await live.answer(send, refusal.status, b"application/json", json.dumps(refusal.body()).encode(), *headers)
        return
    tasks = [asyncio.ensure_future(one) for one in (_pump(listener, send), live.gone(receive), listener.ended.wait())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hub.remove(listener)
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError, OSError, RuntimeError):  # the client has left
                await task
    if listener.ended.is_set():
        with suppress(TimeoutError, OSError, RuntimeError):  # it may read nothing
            last = send({"type": "http.response.body", "body": b"", "more_body": False})
            await asyncio.wait_for(last, LAST_WORDS_SECONDS)


async def _admitted(scope: Scope) -> Right:
    """Return the rights of a stream. Raises ApiError."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    if "x-access-key" not in headers:
        raise InvalidAccessKey
    query = dict(_parameters(scope))
    try:
        right = await hub.query(admit, headers["x-access-key"], query, headers.get("last-event-id", ""))
    except DatabaseError:
        raise ServiceUnavailable from None
    # After the wait, without another one before it is added: two at the same time must not both pass.
    open_rights = [listener.right for listener in hub.listeners]
    of_organization = sum(other.organization_id == right.organization_id for other in open_rights)
    if sum(other.key_id == right.key_id for other in open_rights) >= PER_KEY:
        raise RateLimited(f"This key has {PER_KEY} streams open. Close one.", headers=RETRY)
    if of_organization >= settings.EVENTS_PER_ORGANIZATION:
        raise RateLimited("Your organization has too many streams open. Close one.", headers=RETRY)
    if len(open_rights) + len(live.hub.viewers) >= settings.EVENTS_MAX_VIEWERS:
        raise ServiceUnavailable
    return right


async def _pump(listener: Listener, send: Send) -> None:
    """Send messages as they come, each after the client has taken the one before."""
    await live.start(send)
    ready = json.dumps({"secret": listener.secret, "mode": listener.right.mode})
    await live.part(send, server_sent("ready", ready, event_id=str(listener.position)))
    while True:
        try:
            await asyncio.wait_for(listener.news.wait(), HEARTBEAT_SECONDS)
        except TimeoutError:
            await live.part(send, HEARTBEAT)
            continue
        listener.news.clear()
        while listener.position < listener.newest:
            try:
                page = await hub.next_page(listener)
            except DatabaseError:  # which the hub has logged
                await asyncio.sleep(POLL_SECONDS)
                continue
            for message in page.messages:
                await live.part(send, message)
            listener.position = page.end
