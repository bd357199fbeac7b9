"""
Files on S3 and with a virus scanner.

The running service and this process share the bucket of a Swift that compares signatures. `CLAMD_URL` is a socket, at
which a test starts clamd, or does not.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from config.files.clamd_url import read_clamd_url
from tests.services.application import Application
from tests.services.clamd_server import ClamdServer
from tests.support.tenants import Tenant, make_tenant


@pytest.fixture(scope="session", autouse=True)
def _running(service: Application) -> None:  # noqa: ARG001  # started first
    """Start the service, and with it the schema, first: every test here may arrange in the database."""
    assert settings.FILES_URL, "the suite files-s3 of `python -m tests.run` starts Swift and sets FILES_URL"


@pytest.fixture(scope="session")
def django_db_setup() -> None:
    """Replace pytest-django's own, which would make a test database that the running service never sees."""
    pytest.fail("API tests share the running service's database: leave out the django_db mark and its fixtures")


@pytest.fixture
def files_url() -> str:
    """Return the address of the bucket, to be changed."""
    return os.environ["FILES_URL"]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def clamd() -> Iterator[ClamdServer]:
    """Yield the scanner of the running service, which without this fixture has none."""
    place = read_clamd_url(settings.CLAMD_URL)
    assert isinstance(place, str)
    with ClamdServer(Path(place)) as server:
        yield server
