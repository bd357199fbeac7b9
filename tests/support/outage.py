"""A service whose database is unavailable: every answer that needs it is a 503."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.services.application import Application
from tests.services.processes import free_port


class AwayApplication(Application):
    """Up, as /healthz says, and never ready: /readyz needs the database."""

    def is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        return False


@contextmanager
def service_without_database(like: Application, directory: Path) -> Iterator[Application]:
    """The web role with the settings of `like`, over a PostgreSQL that nobody runs."""
    port = free_port()
    settings = {
        "PORT": str(port),
        "EVENTS_PORT": str(free_port()),
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        "DATABASE_URL": f"postgresql://nobody@127.0.0.1:{free_port()}/nothing",
    }
    environment = like.environment | settings
    with AwayApplication(environment, directory, backend=like.backend, delivers=False, migrates=False) as application:
        yield application
