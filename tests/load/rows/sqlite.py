"""Submitting on SQLite, next to Python's sqlite3 with one writer."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from uuid_utils.compat import uuid7

from tests.load.client import drive, post_bytes
from tests.load.report.figures import Round, Row
from tests.load.request import BODY
from tests.load.rounds import CLIENTS, GENERATORS
from tests.load.rows.kinds import Kind, OneRound
from tests.load.running import Options
from tests.load.sqlite_place import SQLitePlace
from tests.load.statements import TABLE

WARM_UP_SECONDS = 1.0
PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
ROW = Row(
    "sqlite",
    f"POST /api/submit on SQLite, {CLIENTS} clients, 1 web process: submissions a second",
    "the sqlite3 module with the same row and pragmas, one writer, a commit each",
    "a second",
    mark=0.25,
    aim=0.5,
    higher_is_better=True,
)


@contextmanager
def running(place: SQLitePlace, options: Options) -> Iterator[OneRound]:
    """Yield a round of the service and of sqlite3 on a copy of its database."""
    _submit(place, WARM_UP_SECONDS)
    columns, values = _stored_row(place.database)
    copy = place.directory / "copy.sqlite3"

    def one_round() -> dict[str, Round]:
        ours = _submit(place, options.seconds)
        _empty(place.database)
        copy.unlink(missing_ok=True)
        with closing(sqlite3.connect(place.database)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        return {ROW.name: Round(ours, _insert(copy, columns, values, options.seconds))}

    yield one_round


def _submit(place: SQLitePlace, seconds: float) -> float:
    """Return submissions a second; every one is in the table."""
    _empty(place.database)
    request = post_bytes(place.service.port, place.path, place.key, BODY)
    load = drive(place.service.port, request, clients=CLIENTS, processes=GENERATORS, seconds=seconds)
    with closing(sqlite3.connect(place.database)) as connection:
        (rows,) = connection.execute(f"SELECT count(*) FROM {TABLE}").fetchone()
    assert rows == load.requests, f"{load.requests} were answered 201, {rows} are in the table"
    return load.per_second


def _empty(database: Path) -> None:
    with closing(sqlite3.connect(database, timeout=20, isolation_level=None)) as connection:
        connection.execute(f"DELETE FROM {TABLE}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _stored_row(database: Path) -> tuple[list[str], list[object]]:
    """Return the columns and values of a submission, the id first, without those that are NULL."""
    with closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute(f"SELECT * FROM {TABLE} LIMIT 1").fetchone())
    kept = {"id": row.pop("id"), **{name: value for name, value in row.items() if value is not None}}
    return list(kept), list(kept.values())


def _insert(database: Path, columns: list[str], values: list[object], seconds: float) -> float:
    """Return rows a second, each with its commit."""
    insert = f"INSERT INTO {TABLE} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.executescript(PRAGMAS)
        rows, start = 0, time.monotonic()
        while time.monotonic() < start + seconds:
            connection.execute(insert, [uuid7().hex, *values[1:]])
            rows += 1
        return rows / (time.monotonic() - start)


KIND = Kind((ROW,), "sqlite", running)
