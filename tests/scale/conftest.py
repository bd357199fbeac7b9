"""A PostgreSQL of these tests, which they stop and copy, and this process's own way to a database of it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

from tests.faults.backing import Backing
from tests.services.environment import POSTGRESQL, service_environment
from tests.services.redis_server import RedisServer


@pytest.fixture(scope="session")
def own_backing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backing]:
    """Yield what makes migrated databases in a separate server."""
    with Backing(tmp_path_factory.mktemp("own")) as backing:
        yield backing


@pytest.fixture(scope="module")
def own_database(own_backing: Backing, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """Yield the URL of a fresh database, which functions of the code use in this process."""
    url = own_backing.new_postgresql()
    with django_db_blocker.unblock(), leading_to(url):
        yield url


@pytest.fixture(scope="module")
def own_environment(own_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yield the environment of a service over it, with two web processes and a separate Redis."""
    with RedisServer() as redis:
        yield service_environment(
            data_dir=tmp_path_factory.mktemp("data"),
            backend=POSTGRESQL,
            database_url=own_database,
            redis_url=redis.url,
            web_concurrency=2,
            extra=same_secrets(),
        )


def same_secrets() -> Mapping[str, str]:
    """Return this process's SECRET_KEY: sessions that tests make must be valid."""
    from django.conf import settings

    return {"SECRET_KEY": settings.SECRET_KEY}


@contextmanager
def leading_to(url: str) -> Iterator[None]:
    """Lead every connection of this process to another database."""
    parts = urlsplit(url)
    place = {"HOST": parts.hostname, "PORT": parts.port, "USER": parts.username, "NAME": parts.path.strip("/")}
    before = {alias: dict(connections.settings[alias]) for alias in connections}
    connections.close_all()
    try:
        for alias in connections:
            connections.settings[alias].update(place)
        yield
    finally:
        connections.close_all()
        for alias, database in before.items():
            connections.settings[alias].update(database)
