"""Fuzzing of a running service."""

import pytest

from tests.services.application import Application


@pytest.fixture(scope="session", autouse=True)
def _running(service: Application) -> None:
    """Start the service, and with it the schema, first: the test arranges in its database."""
