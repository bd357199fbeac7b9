"""The statement of an export and its ends: a database that goes, or does not answer."""

import http.client
import os
import select
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from django.db import connection, transaction

from submissions.models import Submission
from tests.faults import processes
from tests.services.application import Application
from tests.services.client import Client
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL
from tests.services.waiting import eventually
from tests.support.exports import EXPORT, FORMATS, named, started, statements
from tests.support.rows import fill
from tests.support.tenants import Tenant, make_tenant

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL

HANGING_SECONDS = 15  # for an export to end when not even its cancellation is answered


@pytest.fixture(scope="module")
def full() -> Tenant:
    """Return an organization with an export of 30 MB: more than the sockets on the way hold."""
    tenant = make_tenant()
    fill(tenant, megabytes=30)
    return tenant


@pytest.fixture
def start(start_service: Callable[..., Application], service: Application) -> Callable[..., Application]:
    return lambda **settings: start_service(**named(service), **settings)


def test_session__terminated_in_the_middle__cuts_the_answer(start: Callable[..., Application], full: Tenant) -> None:
    with Client(start().port) as api:
        for chosen in FORMATS:
            with closing(started(api, full, chosen)) as answer:
                answer.read(100_000)
                (pid,) = eventually(statements, because="the statement runs")
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
                with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
                    answer.read()
            assert api.get(EXPORT + chosen, full.key).status == 200


def test_statement__longer_than_its_limit_because_of_a_slow_client__is_finished(
    start: Callable[..., Application], full: Tenant
) -> None:
    service = start(DATABASE_LONG_STATEMENT_SECONDS="1")
    # A machine that is busy may take longer than the one second to start an export.
    with Client(service.port) as api, closing(eventually(lambda: started(api, full, "ndjson"))) as answer:
        (pid,) = eventually(statements, because="the statement runs")

        def is_old() -> bool:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT clock_timestamp() - query_start > '2 seconds' FROM pg_stat_activity WHERE pid = %s", [pid]
                )
                return bool(cursor.fetchone()[0])

        eventually(is_old, because="the statement lasts longer than a statement may")
        assert answer.read().count(b"\n") == 600


@contextmanager
def locked() -> Iterator[None]:
    """Let every read of submissions wait meanwhile."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {Submission._meta.db_table}")
        yield


def test_database__that_fails_before_the_first_part__is_a_503(start: Callable[..., Application], full: Tenant) -> None:
    with Client(start(DATABASE_LONG_STATEMENT_SECONDS="1").port) as api:
        with locked():
            answers = [api.get(EXPORT + chosen, full.key) for chosen in FORMATS]
        assert [(answer.status, answer.json()["error"]) for answer in answers] == [(503, "service_unavailable")] * 3
        # A machine that is busy may take longer than the one second to start an export, too.
        eventually(lambda: api.get(EXPORT + "json", full.key).status == 200, because="exports go on")


def test_process__killed_before_the_first_part__is_a_503(start: Callable[..., Application], full: Tenant) -> None:
    service = start()
    with Client(service.port) as api, ThreadPoolExecutor(1) as pool:
        with locked():
            answer = pool.submit(api.get, EXPORT + "csv", full.key)
            eventually(statements, 30, "the statement waits")
            processes.kill(*processes.jobs(service.processes["web"].popen.pid))
            refused = answer.result()
        assert (refused.status, refused.json()["error"]) == (503, "service_unavailable")
        assert refused.headers["Retry-After"]
        eventually(lambda: not statements(), 10, "no statement remains")
        assert api.get(EXPORT + "csv", full.key).status == 200


def test_client__that_leaves_while_the_database_hangs__ends_the_process(
    start: Callable[..., Application], full: Tenant
) -> None:
    service = start()
    request = f"GET {EXPORT}ndjson HTTP/1.1\r\nHost: 127.0.0.1\r\nx-access-key: {full.key}\r\n\r\n"
    with closing(socket.create_connection(("127.0.0.1", service.port), 30)) as peer:
        peer.sendall(request.encode())
        assert peer.recv(1000).startswith(b"HTTP/1.1 200")
        (pid,) = eventually(statements, 10, "the statement runs")
        processes.kill(pid, number=signal.SIGSTOP)
        has_rest = True
        while has_rest:  # sent before
            has_rest = bool(select.select([peer], [], [], 1)[0] and peer.recv(1_000_000))
    try:
        web = service.processes["web"].popen.pid
        eventually(lambda: not processes.jobs(web), HANGING_SECONDS, "the process of the export ends")
    finally:
        processes.kill(pid, number=signal.SIGCONT)
    eventually(lambda: not statements(), 10, "no statement remains")
    with Client(service.port) as api:
        assert api.get("/api/forms", full.key).status == 200
