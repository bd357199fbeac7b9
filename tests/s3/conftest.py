"""Files on S3: the running service and this process share the bucket of a Swift that compares signatures."""

import os

import pytest
from django.conf import settings

from tests.services.application import Application


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
