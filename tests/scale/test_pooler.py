"""Every role through PgBouncer in transaction mode, with fewer sessions than clients (docs/scaling.md)."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from config.base.ids import Prefix, decode_id
from submissions.live.tokens import live_token
from submissions.models import Submission
from tests.scale.pgbouncer import PgBouncer
from tests.services.application import ALL_ROLES, Application
from tests.services.client import Client
from tests.services.environment import POSTGRESQL
from tests.services.receivers import Receiver
from tests.services.waiting import eventually
from tests.support.live_stream import Stream
from tests.support.rows import put_many
from tests.support.submitting import submit, submit_and_get_id
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import message_id_of, register

SERVER_CONNECTIONS = 4
CLIENTS = 12
EACH = 5  # submissions of a client
STORED = 1_500  # rows: more than a batch of an export


@pytest.fixture(scope="module")
def pooler(own_database: str) -> Iterator[PgBouncer]:
    with PgBouncer(own_database, server_connections=SERVER_CONNECTIONS) as running:
        yield running


@pytest.fixture(scope="module")
def pooled(
    own_environment: dict[str, str], pooler: PgBouncer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Application]:
    """Yield the service: two web processes, live stream, worker and beat, all through the pooler."""
    urls = {"DATABASE_URL": pooler.url, "DATABASE_DIRECT_URL": own_environment["DATABASE_URL"]}
    urls |= {"SEARCHES_AT_ONCE": str(CLIENTS)}
    environment, place = own_environment | urls, tmp_path_factory.mktemp("pooled")
    with Application(environment, place, backend=POSTGRESQL, forked=ALL_ROLES) as running:
        yield running


@pytest.fixture(scope="module")
def tenant(pooled: Application) -> Tenant:  # noqa: ARG001  # its database is this process's
    tenant = make_tenant()
    put_many(tenant, tenant.default_form_id, ({"message": f"stored {number}"} for number in range(STORED)))
    return tenant


def work(port: int, tenant: Tenant, forms: tuple[str, str], number: int) -> tuple[list[str], int]:
    """
    Submit to the first form, search, list, count, and export the second one.

    Return the ids of the submissions, and the status of the export: 429 if others took its place.
    """
    form_id, exported_id = forms
    ids = []
    with Client(port) as client:
        for count in range(EACH):
            ids.append(submit_and_get_id(client, tenant, form_id, {"message": f"{number} {count}"}))
            for path in ("submissions?q=stored", "submissions?limit=5", "analytics", f"submissions/{ids[-1]}"):
                answer = client.get(f"/api/{path}", tenant.key)
                assert answer.status == 200, answer.text
        exported = client.get(f"/api/submissions/export?format=ndjson&formId={exported_id}", tenant.key)
        assert exported.status in (200, 429), exported.text
        if exported.status == 200:
            rows = [json.loads(line)["data"]["message"] for line in exported.text.splitlines()]
            assert rows[:STORED] == [f"stored {row}" for row in range(STORED)]
    return ids, exported.status


def test_pooler__with_fewer_sessions_than_clients__serves_every_role(
    pooled: Application, pooler: PgBouncer, tenant: Tenant, own_database: str, receiver: Receiver
) -> None:
    with Client(pooled.port) as client:
        forms = (register(client, tenant, receiver.url())["formId"], tenant.default_form_id)
    token = live_token(tenant.organization.pk, None, tenant.owner.pk)
    with Stream(pooled.events_port, token) as stream, ThreadPoolExecutor(CLIENTS) as pool:
        futures = [pool.submit(work, pooled.port, tenant, forms, number) for number in range(CLIENTS)]
        results = [future.result() for future in futures]
        assert 200 in [status for _, status in results]
        ids = [one for found, _ in results for one in found]
        assert {event.id for event in stream.wait_for(len(ids), 30)} >= set(ids)

    told = {message.headers["webhook-id"] for message in receiver.wait_for(len(ids), 60)}
    assert told == set(map(message_id_of, ids))
    (pool_of_database,) = [row for row in pooler.show("POOLS") if row["database"] == own_database.rsplit("/", 1)[1]]
    assert pool_of_database["pool_mode"] == "transaction"
    clients, sessions = (
        sum(int(str(number)) for name, number in pool_of_database.items() if name in names)
        for names in (("cl_active", "cl_waiting"), ("sv_active", "sv_idle", "sv_used", "sv_tested", "sv_login"))
    )
    assert sessions <= SERVER_CONNECTIONS < clients


def test_idempotency_key__through_a_pooler__stores_one_of_many_equal_requests(
    pooled: Application, tenant: Tenant
) -> None:
    def send(_number: int) -> tuple[int, str]:
        with Client(pooled.port) as client:
            answer = submit(client, tenant.key, values={"message": "once"}, Idempotency_Key="one")
            return answer.status, answer.json().get("data", {}).get("id", "")

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(send, range(CLIENTS)))
    stored = {pk for status, pk in answers if status == 201}
    assert len(stored) == 1
    assert {status for status, _ in answers} <= {201, 409}
    with Client(pooled.port) as client:
        found = client.get("/api/submissions?q=once", tenant.key).json()
    assert [row["id"] for row in found["data"]] == list(stored)


def test_statement_limit__through_a_pooler__holds_in_lists_and_stays_in_its_transaction(
    pooled: Application, pooler: PgBouncer
) -> None:
    ask = "SELECT current_setting('statement_timeout')"
    code = f"""
from django.db import connection, connections
from config.base.database import snapshot
with snapshot() as alias, connections[alias].cursor() as cursor:
    print(cursor.execute("{ask}").fetchone()[0])
with connection.cursor() as cursor:
    print(cursor.execute("{ask}").fetchone()[0])
"""
    assert pooled.manage("shell", "--verbosity", "0", "--command", code).split() == ["10min", "0"]
    with ExitStack() as stack:  # every session of the server: each is held by a transaction
        sessions = [stack.enter_context(psycopg.connect(pooler.url)) for _ in range(SERVER_CONNECTIONS)]
        assert [session.execute(ask).fetchone() for session in sessions] == [("0",)] * SERVER_CONNECTIONS


def test_migrate__with_a_pooler__runs_in_a_session_of_postgresql_itself(pooled: Application, pooler: PgBouncer) -> None:
    pooler.stop()
    try:
        assert "No migrations to apply" in pooled.manage("migrate", "--no-color")
    finally:
        pooler.start()


def test_restart_of_the_pooler__under_load__loses_nothing_and_answers_503_at_worst(
    pooled: Application, pooler: PgBouncer, tenant: Tenant
) -> None:
    form_id = tenant.default_form_id
    statuses: list[int] = []
    ids: list[str] = []
    stopping = threading.Event()

    def submit_on(_number: int) -> None:
        with Client(pooled.port) as client:
            while not stopping.is_set():
                answer = submit(client, tenant.key, form_id, {"message": "restart"})
                statuses.append(answer.status)
                if answer.status == 201:
                    ids.append(answer.json()["data"]["id"])

    with ThreadPoolExecutor(4) as pool:
        try:
            futures = [pool.submit(submit_on, number) for number in range(4)]
            eventually(lambda: len(ids) > 20, because="submissions are stored")
            pooler.stop()
            eventually(lambda: 503 in statuses, because="the outage is noticed")
            pooler.start()
            before = len(ids)
            eventually(lambda: len(ids) > before + 20, because="submissions are stored again")
        finally:
            stopping.set()
        for future in futures:
            future.result()
    assert set(statuses) == {201, 503}
    assert Submission.objects.filter(pk__in=[decode_id(Prefix.SUBMISSION, one) for one in ids]).count() == len(ids)
