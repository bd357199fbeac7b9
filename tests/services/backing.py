"""
PostgreSQL and Redis for a run: those the environment names, or throw-away ones. And one migrated database of each kind.

Migrating takes five seconds of processor time, so the databases of a run are copies.
"""

import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.services.commands import CommandServer
from tests.services.environment import FILE_NAME, MIGRATED_VARIABLE, POSTGRESQL, SQLITE, service_environment
from tests.services.postgresql import PostgreSQL, create_database, drop_database, from_template
from tests.services.redis_server import RedisServer, numbered

# A service without people has one page only, /setup.
FIRST_PERSON = ["createsuperuser", "--noinput", "--skip-checks", "--verbosity", "0", "--email", "first@example.com"]
MIGRATE = ["migrate", "--verbosity", "0"]
WITHOUT_PEOPLE = "without_people.sqlite3"


def migrated_sqlite(*, has_people: bool = True) -> Path | None:
    """Return a migrated database to copy, made by the first caller of a run; None outside a run."""
    place = os.environ.get(MIGRATED_VARIABLE)
    if not place:
        return None
    made = Path(place) / "made"
    with (Path(place) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            migrating = Path(tempfile.mkdtemp(dir=place))
            environment = service_environment(data_dir=migrating, backend=SQLITE)
            migrate(environment, [MIGRATE])
            shutil.copyfile(migrating / FILE_NAME, migrating / WITHOUT_PEOPLE)
            migrate(environment, [FIRST_PERSON])
            migrating.rename(made)
    return made / (FILE_NAME if has_people else WITHOUT_PEOPLE)


def migrate(environment: Mapping[str, str], steps: Iterable[Sequence[str]] = (MIGRATE, FIRST_PERSON)) -> None:
    commands = CommandServer({**environment, "DJANGO_SETTINGS_MODULE": "config.settings"})
    try:
        for command in steps:
            result = commands.run(command)
            if result.returncode:
                raise RuntimeError(f"{command[0]} failed:\n{(result.stdout + result.stderr).decode(errors='replace')}")
    finally:
        commands.close()


@dataclass
class Backing:
    """Servers that answer. A given server is only ever added to: what we make carries our process id and is dropped."""

    postgresql_url: str
    redis_url: str
    made: list[str] = field(default_factory=list)
    _making: threading.Lock = field(default_factory=threading.Lock)

    @property
    def template(self) -> str:
        """Return the name of a migrated database to copy, made by its first use."""
        name = f"fieldpost_migrated_{os.getpid()}"
        with self._making, tempfile.TemporaryDirectory() as directory:
            if name not in self.made:
                url = create_database(self.postgresql_url, name)
                migrate(service_environment(data_dir=Path(directory), backend=POSTGRESQL, database_url=url))
                self.made.append(name)
        return name

    def database(self, label: str) -> str:
        """Create a database that is migrated and otherwise empty; return its URL."""
        name = f"fieldpost_{label}_{os.getpid()}".replace("-", "_")
        template = self.template
        drop_database(self.postgresql_url, name)
        self.made.append(name)
        return from_template(self.postgresql_url, template, name)

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
