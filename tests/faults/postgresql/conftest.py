"""A PostgreSQL that these tests may stop, databases that are migrated already, and a web role over one of them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.backing import Backing
from tests.services.application import Application
from tests.services.environment import POSTGRESQL, service_environment
from tests.services.postgresql import PostgreSQL


@pytest.fixture(scope="session")
def own_backing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backing]:
    with Backing(tmp_path_factory.mktemp("own")) as backing:
        yield backing


@pytest.fixture(scope="session")
def postgresql(own_backing: Backing) -> PostgreSQL:
    """Return a separate server: these tests stop it, and start it again."""
    return own_backing.postgresql


@pytest.fixture(scope="session")
def new_environment(own_backing: Backing) -> Callable[..., dict[str, str]]:
    """
    Return `new_environment(directory, backend, **settings)`, of a service with one web process and a new database.

    It has no Redis unless the settings name one.
    """

    def make(directory: Path, backend: str = POSTGRESQL, **settings: str) -> dict[str, str]:
        if backend == POSTGRESQL:
            url = own_backing.new_postgresql()
        else:
            own_backing.new_sqlite(directory / "fieldpost.sqlite3")
            url = ""
        return service_environment(data_dir=directory, backend=backend, database_url=url, extra=settings)

    return make


@pytest.fixture(scope="session")
def application(
    new_environment: Callable[..., dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Application]:
    """Yield the web role with the live stream over that server, without Redis. Tests leave it healthy."""
    directory = tmp_path_factory.mktemp("web")
    environment, place = new_environment(directory), directory / "service"
    with Application(environment, place, backend=POSTGRESQL, delivers=False, migrates=False) as running:
        yield running


@pytest.fixture(scope="session")
def key(application: Application) -> str:
    """Return a key of an organization there."""
    application.manage("create_organization", "Acme", "--plan", "enterprise", "--owner", "owner@example.com")
    return application.manage("create_key", "--organization", "acme", "--name", "Test").strip()
