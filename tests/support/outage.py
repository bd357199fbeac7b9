"""A service whose database is unavailable: it answers with 503 only."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services.application import Application, LoneRole, answers
from tests.services.processes import free_port


class AwayApplication(LoneRole):
    """Never ready, because /readyz needs the database: it counts as started once /healthz answers."""

    def is_ready(self) -> bool:
        return answers(self.port, "/healthz")


@contextmanager
def service_without_database(like: Application, directory: Path) -> Iterator[Application]:
    """Yield the web role with the settings of `like`, over a PostgreSQL that does not run."""
    port = free_port()
    settings = {
        "PORT": str(port),
        "EVENTS_PORT": str(free_port()),
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        "DATABASE_URL": f"postgresql://nobody@127.0.0.1:{free_port()}/nothing",
    }
    environment = like.environment | settings
    with AwayApplication(environment, directory, backend=like.backend) as application:
        yield application
