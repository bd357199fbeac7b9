"""A virus scanner with one signature of ours."""

from collections.abc import Iterator

import pytest

from tests.services.clamd_server import ClamdServer


@pytest.fixture(scope="session")
def clamd() -> Iterator[ClamdServer]:
    """Yield a running clamd; a test that stops it starts it again."""
    with ClamdServer() as server:
        yield server
