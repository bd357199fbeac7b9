"""Exports that are read slowly, and their traces in PostgreSQL."""

import http.client
import os
import socket

from django.db import connection

from tests.services.application import Application
from tests.services.client import Client
from tests.support.tenants import Tenant

EXPORT = "/api/submissions/export?format="
FORMATS = ["csv", "json", "ndjson"]
NAME = f"exports-{os.getpid()}"


def named(service: Application) -> dict[str, str]:
    """Return settings for a service whose sessions in PostgreSQL have the name NAME."""
    url = service.environment["DATABASE_URL"]
    return {"DATABASE_URL": f"{url}?application_name={NAME}"} if connection.vendor == "postgresql" else {}


def statements() -> list[int]:
    """Return the PostgreSQL processes of such a service that read submissions; none on SQLite."""
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # a transaction sees the same activity until then
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND state = 'active' "
            'AND query LIKE \'SELECT%%"submissions_submission"."data"%%\'',  # its first KiB, which is what is kept
            [NAME],
        )
        return [pid for (pid,) in cursor.fetchall()]


def started(api: Client, tenant: Tenant, chosen: str = "ndjson") -> http.client.HTTPResponse:
    """Return an answer whose body is not read yet, and will not fit into the sockets."""
    peer = http.client.HTTPConnection("127.0.0.1", api.port, timeout=60, source_address=(api.address, 0))
    peer.connect()
    peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    peer.request("GET", EXPORT + chosen, headers={"x-access-key": tenant.key, "Connection": "close"})
    answer = peer.getresponse()
    assert answer.status == 200, answer.read()
    return answer
