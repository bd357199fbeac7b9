"""
Connections kept alive between the messages of one endpoint (docs/adr/0048).

Nothing is shared between two endpoints, not even of one host: an endpoint that sends too much can only mislead itself.
"""

import os
import threading
import time

from webhooks.transport.connection import Connection
from webhooks.transport.deadline import call_later

MAX_AGE_SECONDS = 60.0  # since the look-up: then the guard resolves and checks the name again
MAX_IDLE_SECONDS = 10.0  # servers close after 5 to 75
SWEEP_SECONDS = 5.0
MAX_KEPT = 256  # idle connections of the process
MAX_KEPT_FOR_ENDPOINT = 32


class KeptConnections:
    """Idle connections by endpoint. Each connection has one owner: this store, or the sender that took it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[Connection, tuple[str, float]] = {}  # endpoint, and when it became idle; the newest is last
        self._is_swept = False

    def __len__(self) -> int:
        return len(self._since)

    def take(self, endpoint: str, origin: tuple[str, str, int]) -> Connection | None:
        """Return an idle connection of the endpoint to this scheme, host and port; close those unfit for use."""
        while (connection := self._pop(endpoint)) is not None:
            if connection.origin == origin and not self._is_old(connection) and connection.is_quiet():
                return connection
            connection.close()
        return None

    def keep(self, endpoint: str, connection: Connection) -> None:
        """Store a connection whose last answer left it clean, or close it if it is too old."""
        if self._is_old(connection):
            connection.close()
            return
        with self._lock:
            self._since[connection] = (endpoint, time.monotonic())
            own = self._of(endpoint)
            surplus = own[0] if len(own) > MAX_KEPT_FOR_ENDPOINT else None
            if surplus is None and len(self._since) > MAX_KEPT:
                surplus = next(iter(self._since))
            if surplus is not None:
                del self._since[surplus]
            starts_sweeps, self._is_swept = not self._is_swept, True
        if surplus is not None:
            surplus.close()
        if starts_sweeps:
            call_later(SWEEP_SECONDS, self.sweep)

    def sweep(self) -> None:
        """Close the connections that are old or were idle for too long; come back while others are left."""
        idle_before = time.monotonic() - MAX_IDLE_SECONDS
        with self._lock:
            unfit = [one for one, (_, since) in self._since.items() if since < idle_before or self._is_old(one)]
            for connection in unfit:
                del self._since[connection]
            are_left = self._is_swept = bool(self._since)
        for connection in unfit:
            connection.close()
        if are_left:
            call_later(SWEEP_SECONDS, self.sweep)

    def _pop(self, endpoint: str) -> Connection | None:
        with self._lock:
            own = self._of(endpoint)
            if own:
                del self._since[own[-1]]
        return own[-1] if own else None

    def _of(self, endpoint: str) -> list[Connection]:
        return [connection for connection, (of, _) in self._since.items() if of == endpoint]

    def _is_old(self, connection: Connection) -> bool:
        return time.monotonic() - connection.opened_at >= MAX_AGE_SECONDS


KEPT = KeptConnections()


def _start_over() -> None:
    """Close our copies in a fork: two processes on one connection would read each other's answers."""
    global KEPT  # another thread of the parent may hold its lock
    inherited, KEPT = KEPT, KeptConnections()
    for connection in list(inherited._since):
        connection.close()


os.register_at_fork(after_in_child=_start_over)
