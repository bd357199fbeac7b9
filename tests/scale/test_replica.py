"""Exports and analytics from a hot standby, everything else from the primary (docs/scaling.md)."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.faults.backing import Backing
from tests.scale.pgbouncer import PgBouncer
from tests.services.application import LoneRole
from tests.services.client import Client
from tests.services.environment import POSTGRESQL
from tests.services.postgresql import Standby
from tests.services.processes import free_port
from tests.services.waiting import eventually
from tests.support.browser import logged_in, person_of, place
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant

SESSIONS = 4  # of a pooler
FIND = "submissions?q=needle", "submissions", "submissions/export?format=ndjson"


@pytest.fixture(scope="module")
def standby(own_backing: Backing, own_database: str) -> Iterator[Standby]:  # noqa: ARG001  # it is copied
    with Standby(own_backing.postgresql) as running:
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


def counts(client: Client, tenant: Tenant) -> list[int]:
    """Return the number of submissions by search, list, export and analytics."""
    found, listed, exported = (client.get(f"/api/{path}", tenant.key) for path in FIND)
    totals = client.get("/api/analytics", tenant.key).json()["data"]["totals"]
    for answer in (found, listed, exported):
        assert answer.status == 200, answer.text
    rows = len([json.loads(line) for line in exported.text.splitlines()])
    return [found.json()["pagination"]["total"], len(listed.json()["data"]), rows, totals["received"]]


def test_paused_replica__is_what_exports_and_analytics_show__and_the_rest_is_the_primary_s(
    client: Client, tenant: Tenant, standby: Standby
) -> None:
    assert counts(client, tenant) == [1, 1, 1, 1]
    browser = logged_in(client, person_of(tenant))
    inbox = place(tenant, "submissions")
    with paused(standby):
        new = submit_and_get_id(client, tenant, values={"message": "needle"})
        assert counts(client, tenant) == [2, 2, 1, 1]
        assert client.get(f"/api/submissions/{new}", tenant.key).status == 200
        assert browser.post(f"{inbox}/act", form=inbox, do="spam", id=new).status in (200, 302)
        assert new not in browser.get(inbox).text
    eventually(lambda: counts(client, tenant) == [1, 1, 1, 2], because="the replica has the new submission")


def test_stopped_replica__costs_exports_and_analytics_503__until_it_is_back(
    client: Client, tenant: Tenant, standby: Standby
) -> None:
    standby.stop(signal.SIGQUIT)
    try:
        submit_and_get_id(client, tenant, values={"message": "needle"})
        found, listed, exported, counted = (client.get(f"/api/{path}", tenant.key) for path in (*FIND, "analytics"))
        assert [found.json()["pagination"]["total"], len(listed.json()["data"])] == [2, 2]
        assert [(one.status, one.headers["Retry-After"]) for one in (exported, counted)] == [(503, "2")] * 2
        assert client.get("/readyz").status == 200
    finally:
        standby.start()
    wait_for_replay(standby)
    eventually(lambda: counts(client, tenant) == [2, 2, 2, 2], because="the replica is read again")


def test_replica__behind_a_pooler__is_read_as_without_one(
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
                assert counts(client, tenant) == [2, 2, 1, 1]
            eventually(lambda: counts(client, tenant) == [2, 2, 2, 2], because="the replica has the new submission")
