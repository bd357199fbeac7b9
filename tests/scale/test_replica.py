"""Lists, searches, analytics and exports from a hot standby; everything else from the primary (docs/scaling.md)."""

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests.faults import processes
from tests.faults.backing import Backing
from tests.services.application import LoneRole
from tests.services.client import Client
from tests.services.commands import CommandServer
from tests.services.environment import POSTGRESQL
from tests.services.pgbouncer import PgBouncer
from tests.services.postgresql import Standby
from tests.services.processes import free_port
from tests.services.waiting import eventually
from tests.support.browser import logged_in, person_of, place, text_of
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant

LATE_SECONDS = 3.0  # promised in docs/scaling.md
AWAY, BACK = "the replica cannot be read", "the replica is read again"  # lines of the log
SENDERS = 12  # more than the web process has threads
SESSIONS = 4  # of a pooler
FROZEN_SECONDS = 10.0  # the process notices after about 4 s, on a machine that others use too
BEGIN = """
from django.db import connections
from config.database import snapshot
from config.postgresql.replica import may_be_late
from submissions.models import Refusal, Submission

@may_be_late
def ask():
    with snapshot():
        pass

ask()  # the first question for the primary's place
"""
# A reader's rows are deleted and vacuumed on the primary while it reads: the standby cancels it.
CONFLICT = """
def rows(alias):
    return Submission.objects.using(alias).filter(organization="{organization}").count()

@may_be_late
def read():
    with snapshot() as alias:
        print(alias)
        count = rows(alias)
        if alias == "replica":
            with connections["default"].cursor() as cursor:
                cursor.execute("CREATE TABLE dead AS SELECT generate_series(1, 1000) AS n")
                cursor.execute("DELETE FROM dead")
                cursor.execute("VACUUM dead")
                cursor.execute("DROP TABLE dead")
            with connections[alias].cursor() as cursor:
                cursor.execute("SELECT pg_sleep(5)")
        return count

print(read())
"""
# The connection of a reader that has read everything is ended: its COMMIT fails.
LATE_END = """
@may_be_late
def read():
    with snapshot() as alias:
        print(alias)
        if alias == "replica":
            pid = connections[alias].connection.info.backend_pid
            with connections["replica_export"].cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s, 30000)", [pid])  # waits for its end
        return Submission.objects.using("default").filter(organization="{organization}").count()

print(read())
"""
FIND = "submissions?q=needle", "submissions", "submissions/export?format=ndjson"


@pytest.fixture(scope="module")
def standby(own_backing: Backing, own_database: str) -> Iterator[Standby]:  # noqa: ARG001  # it is copied
    # Queries of the standby are canceled for the replay after a moment instead of 30 s.
    with Standby(own_backing.postgresql, {"max_standby_streaming_delay": "100ms"}) as running:
        yield running


@pytest.fixture(scope="module")
def web(
    own_environment: dict[str, str], standby: Standby, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoneRole]:
    with LoneRole(
        own_environment | replica_of(own_environment, standby), tmp_path_factory.mktemp("web"), backend=POSTGRESQL
    ) as running:
        yield running


@pytest.fixture
def client(web: LoneRole) -> Iterator[Client]:
    with Client(web.port) as client:
        yield client


@pytest.fixture
def tenant(client: Client, standby: Standby) -> Tenant:
    """Return an organization with one submission that the standby has."""
    tenant = make_tenant()
    submit_and_get_id(client, tenant, values={"message": "needle"})
    wait_for_replay(standby)
    return tenant


def replica_of(environment: dict[str, str], standby: Standby) -> dict[str, str]:
    """Return the setting that names the standby's copy of the service's database."""
    name = environment["DATABASE_URL"].rsplit("/", 1)[1]
    return {"DATABASE_REPLICA_URL": standby.url.replace("/postgres", f"/{name}")}


def own_port() -> dict[str, str]:
    """Return the settings of another web process than that of `web`."""
    port = free_port()
    return {"PORT": str(port), "PUBLIC_URL": f"http://127.0.0.1:{port}"}


def execute(url: str, statement: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        (value,) = connection.execute(statement).fetchone() or ("",)
    return str(value)


def wait_for_replay(standby: Standby) -> None:
    written = execute(standby.primary_url, "SELECT pg_current_wal_lsn()")
    ask = f"SELECT pg_last_wal_replay_lsn() >= '{written}'::pg_lsn"
    eventually(lambda: execute(standby.url, ask) == "True", because="the standby has replayed everything")


@contextmanager
def paused(standby: Standby) -> Iterator[None]:
    execute(standby.url, "SELECT pg_wal_replay_pause()")
    try:
        yield
    finally:
        execute(standby.url, "SELECT pg_wal_replay_resume()")


@contextmanager
def stopped(standby: Standby) -> Iterator[None]:
    """Stop every process of the standby with SIGSTOP."""
    assert standby.process is not None
    pids = list(processes.tree(standby.process.popen.pid))
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):  # one that had just ended when it was stopped
                os.kill(pid, signal.SIGCONT)


def counts(client: Client, tenant: Tenant) -> list[int]:
    """Return the number of submissions by search, list, export and analytics."""
    found, listed, exported = (client.get(f"/api/{path}", tenant.key) for path in FIND)
    totals = client.get("/api/analytics", tenant.key).json()["data"]["totals"]
    for answer in (found, listed, exported):
        assert answer.status == 200, answer.text
    rows = len([json.loads(line) for line in exported.text.splitlines()])
    return [found.json()["pagination"]["total"], len(listed.json()["data"]), rows, totals["received"]]


def test_paused_replica__is_what_lists_and_exports_show__and_single_records_are_the_primary_s(
    client: Client, tenant: Tenant, standby: Standby
) -> None:
    assert counts(client, tenant) == [1, 1, 1, 1]
    with paused(standby):
        new = submit_and_get_id(client, tenant, values={"message": "needle"})
        assert counts(client, tenant) == [1, 1, 1, 1]
        assert client.get(f"/api/submissions/{new}", tenant.key).status == 200
        form = client.post("/api/forms", tenant.key, json={"name": "New", "fields": []})
        assert form.status == 201, form.text
        assert form.json()["data"]["id"] in client.get("/api/forms", tenant.key).text
        cursor = client.get("/api/submissions?cursor=", tenant.key).json()
        assert cursor["pagination"]["limit"]
    eventually(lambda: counts(client, tenant) == [2, 2, 2, 2], because="the replica has the new submission")


def test_replica_behind__by_more_than_three_seconds__is_left_for_the_primary(
    client: Client, tenant: Tenant, standby: Standby, web: LoneRole
) -> None:
    web.forget_logs()

    def log() -> str:
        return web.processes["web"].tail(1000)

    with paused(standby):
        counts(client, tenant)
        submit_and_get_id(client, tenant, values={"message": "needle"})
        eventually(lambda: counts(client, tenant) == [2, 2, 2, 2], LATE_SECONDS + 5, "the primary is read", every=0.3)
        eventually(lambda: counts(client, tenant) and AWAY in log(), because="the log says so", every=0.3)
        counts(client, tenant)
        assert log().count(AWAY) == 1
    eventually(lambda: counts(client, tenant) and BACK in log(), 30, "the replica is read again", every=0.3)


def test_own_change__in_the_dashboard__is_seen_although_the_replica_lacks_it(
    client: Client, tenant: Tenant, standby: Standby
) -> None:
    other = submit_and_get_id(client, tenant, values={"message": "haystack"})
    browser = logged_in(client, person_of(tenant))
    inbox = place(tenant, "submissions")
    eventually(lambda: {"needle", "haystack"} <= set(text_of(browser.get(inbox)).split()))
    with paused(standby):
        # A change by another user is seen late, one by the same user immediately.
        (needle,) = [
            row["id"] for row in client.get("/api/submissions", tenant.key).json()["data"] if row["id"] != other
        ]
        assert client.delete(f"/api/submissions/{needle}", tenant.key).status in (200, 204)
        assert "needle" in text_of(browser.get(inbox))
        assert browser.post(f"{inbox}/act", form=inbox, do="spam", id=other).status in (200, 302)
        assert browser.cookies["fieldpost_fresh"] == "1"
        seen = text_of(browser.get(inbox))
        assert "needle" not in seen
        assert "haystack" not in seen


def test_stopped_replica__leaves_lists_to_the_primary__until_it_is_back(
    client: Client, tenant: Tenant, standby: Standby, web: LoneRole
) -> None:
    counts(client, tenant)
    web.forget_logs()
    standby.stop(signal.SIGQUIT)
    try:
        submit_and_get_id(client, tenant, values={"message": "needle"})
        assert counts(client, tenant) == [2, 2, 2, 2]
        assert counts(client, tenant) == [2, 2, 2, 2]
        assert web.processes["web"].tail(1000).count(AWAY) == 1
        assert client.get("/readyz").status == 200
    finally:
        standby.start()
    eventually(lambda: counts(client, tenant) and BACK in web.processes["web"].tail(1000), 30, every=0.3)


def test_frozen_replica__holds_no_request_for_long__and_lists_come_from_the_primary(
    client: Client, tenant: Tenant, standby: Standby, web: LoneRole
) -> None:
    def ask(_number: int) -> float:
        began = time.monotonic()
        with Client(web.port) as own:
            assert own.get("/api/submissions", tenant.key).status == 200
        return time.monotonic() - began

    counts(client, tenant)
    with stopped(standby), ThreadPoolExecutor(SENDERS) as pool:
        assert max(pool.map(ask, range(SENDERS))) < FROZEN_SECONDS
        assert counts(client, tenant) == [1, 1, 1, 1]


@pytest.mark.parametrize("read", [CONFLICT, LATE_END])
def test_list__that_the_replica_ends__is_read_again_from_the_primary(
    tenant: Tenant, standby: Standby, own_environment: dict[str, str], read: str
) -> None:
    code = BEGIN + read.format(organization=tenant.organization.pk)
    environment = own_environment | replica_of(own_environment, standby)
    commands = CommandServer({**environment, "DJANGO_SETTINGS_MODULE": "config.settings"})
    try:
        result = commands.run(["shell", "--verbosity", "0", "--command", code])
    finally:
        commands.close()
    assert result.stdout.decode().split() == ["replica", "snapshot", "1"], result.stderr.decode()


def test_replica__behind_a_pooler__is_read_and_left_as_without_one(
    own_environment: dict[str, str], standby: Standby, tmp_path: Path
) -> None:
    direct = own_environment["DATABASE_URL"]
    reading = replica_of(own_environment, standby)["DATABASE_REPLICA_URL"]
    with (
        PgBouncer(direct, server_connections=SESSIONS) as pooler,
        PgBouncer(reading, server_connections=SESSIONS) as reader,
    ):
        urls = {"DATABASE_URL": pooler.url, "DATABASE_DIRECT_URL": direct, "DATABASE_REPLICA_URL": reader.url}
        with (
            LoneRole(own_environment | own_port() | urls, tmp_path, backend=POSTGRESQL) as web,
            Client(web.port) as client,
        ):
            tenant = make_tenant()
            submit_and_get_id(client, tenant, values={"message": "needle"})
            wait_for_replay(standby)
            assert counts(client, tenant) == [1, 1, 1, 1]
            with paused(standby):
                submit_and_get_id(client, tenant, values={"message": "needle"})
                assert counts(client, tenant) == [1, 1, 1, 1]
            eventually(lambda: counts(client, tenant) == [2, 2, 2, 2], because="the replica has the new submission")
            reader.stop()
            submit_and_get_id(client, tenant, values={"message": "needle"})
            assert counts(client, tenant) == [3, 3, 3, 3]
            assert web.processes["web"].tail(1000).count(AWAY) == 1


def test_promoted_replica__is_left_for_the_primary(
    own_backing: Backing, own_environment: dict[str, str], tmp_path: Path
) -> None:
    with Standby(own_backing.postgresql) as promoted:
        environment = own_environment | own_port() | replica_of(own_environment, promoted)
        with LoneRole(environment, tmp_path, backend=POSTGRESQL) as web, Client(web.port) as client:
            tenant = make_tenant()
            submit_and_get_id(client, tenant, values={"message": "needle"})
            wait_for_replay(promoted)
            assert counts(client, tenant) == [1, 1, 1, 1]
            execute(promoted.url, "SELECT pg_promote()")
            submit_and_get_id(client, tenant, values={"message": "needle"})
            eventually(
                lambda: counts(client, tenant) == [2, 2, 2, 2], LATE_SECONDS + 5, "the primary is read", every=0.3
            )
            assert AWAY in web.processes["web"].tail(1000)
