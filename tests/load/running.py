"""Places for the rows: a service over PostgreSQL and Redis, the same with stored rows, and SQLite."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.load import durability
from tests.load.deliveries.receiver import Receiver, running_receiver
from tests.load.rounds import Bench
from tests.services.application import Application
from tests.services.environment import PAUSES, POSTGRESQL, service_environment
from tests.services.postgresql import PostgreSQL, create_database
from tests.services.redis_server import RedisServer

WEB_PROCESSES = 2
EXTRA = {
    "DATABASE_LONG_STATEMENT_SECONDS": "7200",  # ten million rows are stored by one statement
}
_ARCHIVE = "from tests.load import archive; archive.main({})"


@dataclass(frozen=True)
class Options:
    """`seconds` of a round with a length. `stored_rows` of the large form, `deliveries` of a round."""

    rounds: int
    seconds: float
    stored_rows: int
    deliveries: int


@dataclass(frozen=True)
class Place:
    """
    A running service, a receiver, and room for files. `durability`: its settings in a sentence.

    `archive`: on a place with stored rows, a `tests.load.archive.Stored` for each of `small` and `large`.
    """

    bench: Bench
    receiver: Receiver
    directory: Path
    durability: str
    archive: dict[str, dict[str, Any]] = field(default_factory=dict)


def with_own_pauses(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment of tests in which the service pauses as long as by default."""
    return {name: value for name, value in environment.items() if name not in PAUSES}


@contextmanager
def running_service(_options: Options) -> Iterator[Place]:
    """Yield two web processes, PostgreSQL and Redis, all started here, without stored rows and without delivering."""
    with (
        tempfile.TemporaryDirectory(prefix="fieldpost-bench-", ignore_cleanup_errors=True) as name,
        PostgreSQL() as postgresql,
        RedisServer() as redis,
        running_receiver() as receiver,
    ):
        environment = with_own_pauses(
            service_environment(
                data_dir=Path(name),
                backend=POSTGRESQL,
                database_url=create_database(postgresql.url, "fieldpost"),
                redis_url=redis.url,
                web_concurrency=WEB_PROCESSES,
                extra=EXTRA,
            )
        )
        service = Application(environment, Path(name) / "web", backend=POSTGRESQL, delivers=False, streams=False)
        with service:
            bench = Bench(service, postgresql)
            settings = durability.check(bench.shell(durability.COMMAND))
            yield Place(bench, receiver, Path(name), settings)


@contextmanager
def running_archive(options: Options) -> Iterator[Place]:
    """Yield the same with a form of a thousand submissions and one of `stored_rows`."""
    with running_service(options) as place:
        place.archive.update(place.bench.shell(_ARCHIVE.format(options.stored_rows)))
        yield place
