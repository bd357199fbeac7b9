"""Every measurement, in the order of the table; and the places that they run at, in the order in which these start."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tests.load.report.figures import Row
from tests.load.rows import busy, deliveries, export, lists, serve, size, sqlite, submit
from tests.load.rows.kinds import Kind
from tests.load.running import Options, running_archive, running_service
from tests.load.sqlite_place import running_sqlite

KINDS: tuple[Kind, ...] = (
    submit.KIND,
    sqlite.KIND,
    *lists.KINDS,
    export.KIND,
    *serve.KINDS,
    size.KIND,
    busy.KIND,
    *deliveries.KINDS,
)
PLACES: dict[str, Callable[[Options], AbstractContextManager[Any]]] = {
    "service": running_service,
    "sqlite": running_sqlite,
    "archive": running_archive,
}
ROWS: tuple[Row, ...] = tuple(row for kind in KINDS for row in kind.rows)
