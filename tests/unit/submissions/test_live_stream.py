"""The live stream's application, called as a server calls it: what a server under test cannot be made to do."""

import asyncio
import math
import time
import uuid
from typing import Any

import pytest
from django.core import signing

from submissions.live import stream
from submissions.live.hub import Hub
from submissions.live.tokens import SALT, Watch


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    """Return a hub that finds nothing, in place of the process's own."""
    hub = Hub(lambda organizations, since: [])
    monkeypatch.setattr(stream, "hub", hub)
    return hub


def scope(seconds_left: int) -> dict[str, Any]:
    """Return a request whose token has so many seconds left, and up to one more: tokens end at whole seconds."""
    watched = [str(uuid.uuid4()), "", str(uuid.uuid4()), math.ceil(time.time()) + seconds_left]
    query = f"token={signing.dumps(watched, salt=SALT)}".encode()
    return {"type": "http", "method": "GET", "path": "/events", "query_string": query, "headers": []}


async def stay() -> dict[str, Any]:
    return await asyncio.Event().wait() and {}  # never


def test_stream__of_one_who_reads_nothing__ends_with_its_token(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LAST_WORDS_SECONDS", 0.1)

    async def stuck(_message: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    async def scenario() -> None:
        await asyncio.wait_for(stream.application(scope(1), stay, stuck), 10)

    asyncio.run(scenario())
    assert not hub.viewers


def test_stream__of_one_who_leaves__frees_the_viewer_at_once(hub: Hub) -> None:
    async def scenario() -> None:
        leaves = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await leaves.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message.get("body"):
                assert len(hub.viewers) == 1
                leaves.set()

        await asyncio.wait_for(stream.application(scope(60), receive, send), 10)

    asyncio.run(scenario())
    assert not hub.viewers


@pytest.mark.usefixtures("hub")
def test_stream__that_is_quiet__keeps_saying_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that reconnects much later continues from there, instead of reloading its list."""
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 1.0)  # later than the first look
    sent: list[bytes] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message.get("body", b""))

    asyncio.run(stream.application(scope(2), stay, send))
    heartbeats = [body for body in sent if body.endswith(stream.HEARTBEAT)]
    assert heartbeats
    assert all(body.startswith(b"id: sub_") for body in heartbeats)
    end = next(body for body in sent if b"event: end" in body)
    assert end.startswith(b"id: sub_")
    assert end.endswith(b"event: end\ndata: {}\n\n")


def test_position__while_a_message_waits__is_not_sent(hub: Hub) -> None:
    """A page with an id beyond its last message would never request the rest."""

    async def scenario() -> tuple[bytes, bytes]:
        viewer = hub.add(Watch(uuid.uuid4(), None, int(time.time()) + 60), None)
        before = stream.position_line(viewer)
        viewer.give(b"waits")
        return before, stream.position_line(viewer)

    before, after = asyncio.run(scenario())
    assert before.startswith(b"id: sub_")
    assert after == b""
