"""A submission is on disk before its 201 (docs/contract.md 5.3): the databases' settings that this depends on."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.utils import ConnectionHandler

from config.settings import databases

pytestmark = pytest.mark.django_db(databases=["default", "snapshot", "export"])
FULL = 2


class CarelessConnection(sqlite3.Connection):
    """A connection of a library whose default is not to sync, as SQLITE_DEFAULT_WAL_SYNCHRONOUS can make it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.execute("PRAGMA synchronous=OFF")


def shown(handler: ConnectionHandler, alias: str, query: str) -> Any:
    with handler[alias].cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchone()[0]


def test_sqlite__library_that_does_not_sync__syncs_at_each_commit(tmp_path: Path) -> None:
    found = databases(f"sqlite:///{tmp_path / 'durable.sqlite3'}")
    for each in found.values():
        each["OPTIONS"]["factory"] = CarelessConnection
    handler = ConnectionHandler(found)
    try:
        assert shown(handler, "default", "PRAGMA synchronous") == FULL
        assert shown(handler, "default", "PRAGMA journal_mode") == "wal"
        # The others never write, so nothing of them has to be synced.
        assert {shown(handler, alias, "PRAGMA query_only") for alias in found.keys() - {"default"}} == {1}
    finally:
        handler.close_all()


def test_connections__wait_for_the_disk_at_each_commit() -> None:
    found = databases(settings.DATABASE_URL)
    handler = ConnectionHandler(found)
    try:
        if connection.vendor == "postgresql":
            assert {shown(handler, alias, "SHOW synchronous_commit") for alias in found} == {"on"}
        else:
            assert shown(handler, "default", "PRAGMA synchronous") == FULL
    finally:
        handler.close_all()
