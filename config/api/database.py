"""What to do about database connections that a restart of the server has broken."""

from typing import Any

from django.db import connections


def drop_broken_connections() -> None:
    """
    Close this thread's connections, and the pools' dead ones, so that the next query gets one that works.

    PostgreSQL's restart breaks every pooled connection; without this each would cost one request its answer.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()
        pool: Any = getattr(connection, "pool", None)  # PostgreSQL alone has one
        if pool is not None:
            pool.check()
