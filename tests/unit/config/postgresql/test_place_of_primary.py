"""An export that reads the replica keeps no connection to the primary (docs/adr/0102)."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db.utils import ConnectionHandler

from config.postgresql import replica
from config.settings import databases
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL


@pytest.fixture
def pooled(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:  # noqa: ARG001  # pytest-django's
    """Yield the primary's connection of a thread, as web processes have it."""
    monkeypatch.setattr("config.settings.DATABASE_POOL_SIZE", 1)
    handler = ConnectionHandler(databases(settings.DATABASE_URL))
    monkeypatch.setattr(replica, "connections", handler)
    connection: Any = handler["default"]
    try:
        yield connection
    finally:
        connection.close()
        connection.close_pool()


def test_place_of_the_primary__asked_by_a_thread_without_a_connection__leaves_it_none(pooled: Any) -> None:
    assert replica._place_of_primary() > 0
    assert pooled.connection is None  # an export lasts as long as its client reads, and would keep it


def test_place_of_the_primary__asked_by_a_thread_with_a_connection__leaves_it_open(pooled: Any) -> None:
    with pooled.cursor() as cursor:
        cursor.execute("SELECT 1")
        opened = pooled.connection
        assert replica._place_of_primary() > 0
        assert pooled.connection is opened
