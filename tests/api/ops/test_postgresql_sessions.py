"""Sessions of the running service in PostgreSQL: their names, and the limit of a statement."""

import os
from collections.abc import Callable

from django.db import connection, transaction

from tests.services.application import Application
from tests.services.client import Client
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL
from tests.services.waiting import eventually
from tests.support.tenants import make_tenant

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL


def names() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT application_name FROM pg_stat_activity WHERE datname = current_database()")
        return {name for (name,) in cursor.fetchall()}


def test_sessions__of_each_role__bear_its_name(service: Application) -> None:
    """An operator sees in pg_stat_activity which role holds a lock."""
    with Client(service.port) as client:
        client.get("/readyz")
    eventually(lambda: {"fieldpost-web", "fieldpost-worker"} <= names())


def test_statement__that_waits_too_long__is_canceled_and_answered_503(
    start_service: Callable[..., Application],
) -> None:
    """A statement without a limit holds its thread as long as the lock lasts."""
    tenant = make_tenant()
    service = start_service(DATABASE_STATEMENT_SECONDS="0.5")
    with Client(service.port) as client, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE webhooks_receiver")
        answer = client.get("/api/webhooks", tenant.key)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "2")
