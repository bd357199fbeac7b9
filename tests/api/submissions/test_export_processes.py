"""Exports in their own processes (docs/adr/0108), and how these end."""

import http.client
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults import processes
from tests.services.application import Application
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.exports import EXPORT, FORMATS, named, started, statements
from tests.support.rows import fill
from tests.support.tenants import Tenant, make_tenant

ROWS = 600
REQUESTS = 60  # several for each thread
SOON = 30.0  # seconds, on a busy machine


@pytest.fixture(scope="module")
def full() -> Tenant:
    """Return an organization with an export of 30 MB: more than the sockets on the way hold."""
    tenant = make_tenant()
    fill(tenant, megabytes=30)
    return tenant


@pytest.fixture
def web(start_service: Callable[..., Application], service: Application) -> Application:
    return start_service(**named(service))


def server_of(web: Application) -> int | None:
    return processes.job_server(web.processes["web"].popen.pid)


def exports_of(web: Application) -> list[int]:
    return processes.jobs(web.processes["web"].popen.pid)


@pytest.mark.parametrize("chosen", FORMATS)
def test_export__while_it_runs__has_its_own_process_that_ends_with_it(
    web: Application, full: Tenant, chosen: str
) -> None:
    with Client(web.port) as api, closing(started(api, full, chosen)) as answer:
        (export,) = exports_of(web)
        assert answer.read().count(b"x" * 50_000) == ROWS
        eventually(lambda: not processes.is_alive(export), SOON, "its process ends")


def test_killed_export__cuts_the_answer__and_the_next_one_is_whole(web: Application, full: Tenant) -> None:
    with Client(web.port) as api:
        for chosen in FORMATS:
            with closing(started(api, full, chosen)) as answer:
                answer.read(100_000)
                processes.kill(*exports_of(web))
                with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
                    answer.read()
        assert api.get(EXPORT + "ndjson", full.key).text.count("\n") == ROWS


def test_killed_server__is_replaced_and_its_exports_are_whole(web: Application, full: Tenant) -> None:
    with Client(web.port) as api, closing(started(api, full)) as answer:
        server = server_of(web)
        assert server
        processes.kill(server)
        eventually(lambda: not processes.is_alive(server), SOON, "it has ended")
        assert api.get(EXPORT + "ndjson", full.key).text.count("\n") == ROWS
        assert server_of(web) not in (None, server)
        assert answer.read().count(b"\n") == ROWS


def test_export__whose_client_leaves__ends_soon(web: Application, full: Tenant) -> None:
    with Client(web.port) as api:
        for chosen in FORMATS:
            with closing(started(api, full, chosen)) as answer:
                answer.read(100_000)
                assert len(exports_of(web)) == 1
            eventually(lambda: not exports_of(web), SOON, "its process ends")
            assert not statements()
        for _ in range(REQUESTS):
            assert api.get("/api/forms", full.key).status == 200


def test_export__asked_for_with_head__leaves_every_thread_in_order(web: Application, full: Tenant) -> None:
    with Client(web.port) as api:
        assert {api.request("HEAD", EXPORT + "ndjson", full.key).status for _ in range(REQUESTS)} == {200}
        eventually(lambda: not exports_of(web), SOON, "their processes end")
        assert {api.get("/api/forms", full.key).status for _ in range(REQUESTS)} == {200}


def test_export__whose_client_takes_nothing__ends(
    start_service: Callable[..., Application], service: Application, full: Tenant
) -> None:
    web = start_service(READER_SECONDS="1", **named(service))
    with Client(web.port) as api, closing(started(api, full)):
        eventually(lambda: not exports_of(web), 1 + SOON, "its process ends")
        assert not statements()
        assert api.get("/api/forms", full.key).status == 200


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_web__that_ends__takes_server_and_exports_with_it(
    web: Application, full: Tenant, number: signal.Signals
) -> None:
    with Client(web.port) as api:
        answer = started(api, full)
        server, exports = server_of(web), exports_of(web)
        assert server
        web.processes["web"].send(number)
        with closing(answer):
            if number == signal.SIGTERM:  # it gives open requests ten seconds
                assert answer.read().count(b"\n") == ROWS
    assert len(exports) == 1
    eventually(lambda: not any(map(processes.is_alive, [server, *exports])), SOON, "they end")


def test_exports__whole_and_abandoned__leave_no_process_and_no_descriptor(web: Application, full: Tenant) -> None:
    small = make_tenant()

    def count() -> list[int]:
        return [
            len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in (web.processes["web"].popen.pid, server_of(web))
        ]

    def export(times: int) -> None:
        for _ in range(times):
            assert api.get(EXPORT + "ndjson", full.key).status == 200
            with closing(started(api, full, "csv")) as answer:
                answer.read(1000)
            eventually(lambda: not exports_of(web), SOON, "the abandoned one ends")

    with Client(web.port) as api:
        for _ in range(REQUESTS):  # then every thread has its connections
            assert api.get(EXPORT + "json", small.key).status == 200
        export(1)
        before = count()
        export(8)
    eventually(lambda: max(now - then for now, then in zip(count(), before, strict=True)) < 4, SOON, "no leak")
    children = Path(f"/proc/{server_of(web)}/task/{server_of(web)}/children")  # zombies too
    eventually(lambda: not children.read_text(), SOON, "no process remains")
