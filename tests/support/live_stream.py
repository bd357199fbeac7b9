"""A viewer of the live stream: reads server-sent events until it is stopped."""

import http.client
import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode

from tests.services.waiting import PATIENCE_SECONDS, eventually


@dataclass(frozen=True)
class Event:
    id: str
    name: str
    data: Any


class Stream:
    """One open stream; `events` fills as they come. `headers` go with the request."""

    def __init__(self, port: int, token: str, after: str = "", *, address: str = "127.0.0.1", **headers: str) -> None:
        query = urlencode({"token": token, **({"after": after} if after else {})})
        self._open(f"/events?{query}", address, port, headers)

    def _open(self, path: str, address: str, port: int, headers: Mapping[str, str]) -> None:
        self.connection = http.client.HTTPConnection(address, port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request("GET", path, headers=named)
        self._socket = self.connection.sock  # the answer takes it over
        self.answer = self.connection.getresponse()
        self.events: list[Event] = []
        self.ended = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the reader; `close` by itself would wait for it
        self._reader.join(10)
        self.answer.close()
        self.connection.close()

    def _read(self) -> None:
        fields: dict[str, str] = {}
        try:
            for raw in self.answer:
                line = raw.decode().rstrip("\n")
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "event" in fields:
                    self.events.append(Event(fields.get("id", ""), fields["event"], json.loads(fields["data"])))
                    fields = {}
                else:
                    fields = {}
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass
        self.ended.set()

    def wait_for(self, count: int, timeout: float = PATIENCE_SECONDS) -> list[Event]:
        """Return the first events, once there are so many."""

        def arrived() -> list[Event]:
            assert len(self.events) >= count, f"{len(self.events)} events came: {self.events}"
            return list(self.events)

        return eventually(arrived, timeout, f"{count} events")


class Listening(Stream):
    """A stream of a program that listens with a key."""

    def __init__(self, port: int, key: str, *, address: str = "127.0.0.1", after: str = "", form_id: str = "") -> None:
        query = urlencode({"mode": "listen", **({"formId": form_id} if form_id else {})})
        self._open(
            f"/events?{query}", address, port, {"x_access_key": key, **({"Last_Event_ID": after} if after else {})}
        )
