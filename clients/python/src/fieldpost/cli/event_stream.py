"""Server-sent events of the stream at EVENTS_URL, read on after each cut."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fieldpost import errors
from fieldpost.transport import Transport

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds before a cut stream is opened again


@dataclass(frozen=True)
class Event:
    """One event: its name, and its data as JSON."""

    name: str
    data: dict[str, Any]
    id: str


def events(transport: Transport, query: dict[str, str]) -> Iterator[Event]:
    """Yield events without end. A cut stream is opened again, from the last event on."""
    last, pause, has_begun = "", FIRST_PAUSE, False
    while True:
        try:
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
            with transport.stream("/events", query, headers) as parts:
                for event in parse(parts):
                    has_begun, pause = True, FIRST_PAUSE
                    last = event.id or last
                    if event.data:
                        yield event
        except errors.ConnectionError:
            if not has_begun:
                raise
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def parse(parts: Iterator[bytes]) -> Iterator[Event]:
    """Yield the events of a text/event-stream, in whatever parts it comes."""
    waiting = b""
    name, data, event_id = "message", list[str](), ""
    for part in parts:
        *lines, waiting = (waiting + part).split(b"\n")
        for line in lines:
            text = line.decode().rstrip("\r")
            field, _, value = text.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
            elif field == "id":
                event_id = value
            elif not text and (data or event_id):  # an empty line ends an event
                yield Event(name, json.loads("\n".join(data) or "{}"), event_id)
                name, data, event_id = "message", [], ""
