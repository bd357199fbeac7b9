"""
Django's PostgreSQL backend, whose pooled connections are not waited for while the server refuses connections.

A pool cannot know whether its next attempt will succeed, so a request waits PATIENCE_SECONDS for it. During an outage
that would hold every web thread. So before it waits, and twice a second meanwhile, a request tries to reach the server
itself. Nothing remembers an outage, so the first request after a restart succeeds. Django requires this module's name.
"""

import select
import time
from typing import Any

from django.db.backends.postgresql import base
from psycopg import OperationalError, pq
from psycopg.conninfo import make_conninfo
from psycopg_pool import PoolTimeout

PATIENCE_SECONDS = 3.0  # for a connection of a server that can be reached: it is busy, or starting
PROBE_SECONDS = 0.5
NOT_OF_LIBPQ = ("autocommit", "prepare_threshold")  # parameters of psycopg


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection of the pool. Raises OperationalError immediately if the server refuses connections."""
        if not self.pool:
            return super().get_new_connection(conn_params)
        until = time.monotonic() + PATIENCE_SECONDS
        if not self.pool.get_stats()["pool_available"]:
            _raise_if_refused(conn_params)
        while True:
            try:
                return super().get_new_connection(conn_params)
            except PoolTimeout:
                if time.monotonic() >= until:
                    raise
                _raise_if_refused(conn_params)


def _raise_if_refused(conn_params: dict[str, Any]) -> None:
    if reason := refusal(conn_params):
        raise OperationalError(reason)


def refusal(conn_params: dict[str, Any]) -> str:
    """
    Return why no socket of the server can be reached, "" if one can or if that is not known in PROBE_SECONDS.

    libpq looks up the names and tries every address. It sends nothing, so PostgreSQL logs nothing.
    """
    given = {name: str(value) for name, value in conn_params.items() if isinstance(value, str | int)}
    conninfo = make_conninfo("", **{name: value for name, value in given.items() if name not in NOT_OF_LIBPQ})
    probe = pq.PGconn.connect_start(conninfo.encode())
    try:
        until = time.monotonic() + PROBE_SECONDS
        while probe.status == pq.ConnStatus.STARTED and (left := until - time.monotonic()) > 0:
            wait = select.poll()  # a web process can have more open files than `select.select` takes
            wait.register(probe.socket, select.POLLOUT)  # each address has its own socket
            if wait.poll(left * 1000):
                probe.connect_poll()
        return probe.get_error_message() if probe.status == pq.ConnStatus.BAD else ""
    finally:
        probe.finish()
