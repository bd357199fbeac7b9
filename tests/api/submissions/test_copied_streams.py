"""Exports through COPY and their ends: a client that leaves, a database that goes (docs/adr/0100)."""

import http.client
import os
import socket
from collections.abc import Callable
from contextlib import closing

import pytest
from django.db import connection

from tests.services.application import Application
from tests.services.client import Client
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL
from tests.services.waiting import eventually
from tests.support.rows import fill
from tests.support.tenants import Tenant, make_tenant

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL

EXPORT = "/api/submissions/export?format="
NAME = f"copied-{os.getpid()}"
FORMATS = ["csv", "json", "ndjson"]


@pytest.fixture(scope="module")
def full() -> Tenant:
    """Return an organization with an export of 30 MB: more than the sockets on the way hold."""
    tenant = make_tenant()
    fill(tenant, megabytes=30)
    return tenant


@pytest.fixture
def start(start_service: Callable[..., Application], service: Application) -> Callable[..., Application]:
    """Return `start_service` whose sessions in PostgreSQL have the name NAME."""
    url = service.environment["DATABASE_URL"]
    return lambda **settings: start_service(DATABASE_URL=f"{url}?application_name={NAME}", **settings)


def copies() -> list[int]:
    """Return the PostgreSQL processes of this test's service that copy rows."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND state <> 'idle' AND query LIKE 'COPY%%'",
            [NAME],
        )
        return [pid for (pid,) in cursor.fetchall()]


def started(api: Client, tenant: Tenant, chosen: str) -> http.client.HTTPResponse:
    """Return an answer whose body is not read yet, and will not fit into the sockets."""
    peer = http.client.HTTPConnection("127.0.0.1", api.port, timeout=60, source_address=(api.address, 0))
    peer.connect()
    peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    peer.request("GET", EXPORT + chosen, headers={"x-access-key": tenant.key, "Connection": "close"})
    answer = peer.getresponse()
    assert answer.status == 200
    return answer


def test_client__that_leaves_in_the_middle__ends_the_copy(start: Callable[..., Application], full: Tenant) -> None:
    with Client(start().port) as api:
        for chosen in FORMATS:
            with closing(started(api, full, chosen)) as answer:
                answer.read(100_000)
                eventually(copies, because="the COPY runs")
            eventually(lambda: not copies(), because="no COPY remains")


def test_client__that_reads_nothing_more__is_cut_and_ends_the_copy(
    start: Callable[..., Application], full: Tenant
) -> None:
    with Client(start(READER_SECONDS="3").port) as api, closing(started(api, full, "ndjson")) as answer:
        answer.read(100_000)
        eventually(copies, because="the COPY runs")
        eventually(lambda: not copies(), because="no COPY remains")


def test_session__terminated_in_the_middle__cuts_the_answer(start: Callable[..., Application], full: Tenant) -> None:
    with Client(start().port) as api:
        for chosen in FORMATS:
            with closing(started(api, full, chosen)) as answer:
                answer.read(100_000)
                (pid,) = eventually(copies, because="the COPY runs")
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
                with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
                    answer.read()
            assert api.get(EXPORT + chosen, full.key).status == 200


def test_statement__longer_than_its_limit_because_of_a_slow_client__is_finished(
    start: Callable[..., Application], full: Tenant
) -> None:
    service = start(DATABASE_LONG_STATEMENT_SECONDS="1")
    with Client(service.port) as api, closing(started(api, full, "ndjson")) as answer:
        (pid,) = eventually(copies, because="the COPY runs")

        def is_old() -> bool:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT clock_timestamp() - query_start > '2 seconds' FROM pg_stat_activity WHERE pid = %s", [pid]
                )
                return bool(cursor.fetchone()[0])

        eventually(is_old, because="the COPY lasts longer than a statement may")
        assert answer.read().count(b"\n") == 600
