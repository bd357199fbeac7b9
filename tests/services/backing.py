"""PostgreSQL and Redis for a run: those the environment names, or throw-away ones."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tests.services.postgresql import PostgreSQL, create_database, drop_database
from tests.services.redis_server import RedisServer, numbered


@dataclass
class Backing:
    """Servers that answer. A given server is only ever added to: what we make carries our process id and is dropped."""

    postgresql_url: str
    redis_url: str
    made: list[str] = field(default_factory=list)

    def database(self, label: str) -> str:
        """Create a fresh database and return its URL."""
        name = f"fieldpost_{label}_{os.getpid()}".replace("-", "_")
        self.made.append(name)
        return create_database(self.postgresql_url, name)

    def redis(self, number: int) -> str:
        return numbered(self.redis_url, number)

    def drop_databases(self) -> None:
        while self.made:
            drop_database(self.postgresql_url, self.made.pop())


def _given(name: str, scheme: str) -> str:
    """Return the server of a variable; a developer's SQLite or empty setting is none."""
    url = os.environ.get(name, "")
    return url if url.startswith(scheme) else ""


@contextmanager
def backing_services() -> Iterator[Backing]:
    """Yield `DATABASE_URL` and `REDIS_URL` of the environment; start and stop a server that it does not name."""
    with ExitStack() as stack:
        postgresql_url = _given("DATABASE_URL", "postgres") or stack.enter_context(PostgreSQL()).url
        redis_url = _given("REDIS_URL", "redis") or stack.enter_context(RedisServer()).url
        backing = Backing(postgresql_url, redis_url)
        try:
            yield backing
        finally:
            backing.drop_databases()


def programs_needed() -> list[str]:
    """Return the programs that `backing_services` will start."""
    programs = [] if _given("DATABASE_URL", "postgres") else ["postgres"]
    return programs if _given("REDIS_URL", "redis") else [*programs, "redis-server"]
