"""Unit tests stay on this machine: they connect only to loopback and Unix sockets and resolve no names."""

import gc
import os
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.test import TransactionTestCase

from config.outage import OUTAGE
from submissions.refusals.recorder import Waiting
from tests.services.backing import migrated_sqlite
from tests.services.environment import BACKEND_VARIABLE, SQLITE
from tests.unit.emptying import empty

# The same examples at every run, unless FUZZING_SEED is set: what luck finds is looked for by hand, not in a merge. And
# none has a deadline: a machine that pauses would fail it, and `tests/support/costs.py` measures what must be quick.
hypothesis.settings.register_profile("merge", deadline=None, derandomize="FUZZING_SEED" not in os.environ)
hypothesis.settings.load_profile("merge")

_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex
_getaddrinfo = socket.getaddrinfo


class OutsideConnection(RuntimeError):
    """Not an OSError: code that expects networks to fail must not swallow it."""


def is_loopback(host: str | bytes | None) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    try:
        return ip_address(str(name).partition("%")[0]).is_loopback
    except ValueError:
        return False


def _check(family: int, address: Any) -> None:
    if family in (socket.AF_INET, socket.AF_INET6) and not is_loopback(address[0]):
        raise OutsideConnection(f"a unit test tried to reach {address[0]} port {address[1]}")


def _is_address(host: str | bytes | None) -> bool:
    try:
        _getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return False
    return True


def _asks_for_database(item: pytest.Item) -> bool:
    by_fixture = {"db", "transactional_db"} & set(getattr(item, "fixturenames", ()))
    return bool(by_fixture) or item.get_closest_marker("django_db") is not None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the modules in which no test asks for the database: they run on SQLite only."""
    with_database = {item.path for item in items if _asks_for_database(item)}
    for item in items:
        if item.path not in with_database and item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("on_sqlite")


def pytest_collection_finish() -> None:
    """Keep the modules and tests, which stay to the end, out of garbage collections: each would walk all of them."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_refusals_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave refusals in memory: a thread that writes them would run on in other tests, over their database."""
    monkeypatch.setattr(Waiting, "start_writer", lambda _waiting: None)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None,  # noqa: ARG001 - runs before it
) -> Iterator[None]:
    """Fill the test database from the run's migrated one, if it is in memory: pytest-django calls this before it."""
    made = migrated_sqlite() if os.environ[BACKEND_VARIABLE] == SQLITE else None

    def fill(connection: BaseDatabaseWrapper, **_: Any) -> None:
        nonlocal made
        if made and isinstance(connection, DatabaseWrapper) and connection.is_in_memory_db():
            with closing(sqlite3.connect(made)) as source:
                source.backup(connection.connection)
            made = None

    connection_created.connect(fill)
    yield
    connection_created.disconnect(fill)


@pytest.fixture(scope="session", autouse=True)
def quick_flush() -> Iterator[None]:
    """Delete rows after tests that commit, instead of truncating every table and migrating nothing again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_writes_after_an_outage() -> Iterator[None]:
    """
    End the outages that tests cause without a test of the database.

    Its thread would write seconds later, next to another test, whose statements SQLite refuses: in memory, a locked
    table is not waited for.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OUTAGE, "_works", lambda: True)
        yield


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(self: socket.socket, address: Any) -> None:
        _check(self.family, address)
        _connect(self, address)

    def connect_ex(self: socket.socket, address: Any) -> int:
        _check(self.family, address)
        return _connect_ex(self, address)

    def getaddrinfo(host: str | bytes | None, *arguments: Any, **options: Any) -> Any:
        """Addresses in any spelling and localhost, as ever; every other name is unknown."""
        if is_loopback(host) or _is_address(host):
            return _getaddrinfo(host, *arguments, **options)
        raise socket.gaierror(socket.EAI_NONAME, "unit tests resolve no names")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket.socket, "connect_ex", connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
