"""Exports in their own processes, where the web process has a server that forks them (docs/adr/0108)."""

import logging
from collections.abc import Generator, Sequence
from contextlib import closing
from importlib import import_module
from typing import Any

import structlog
from django.db import connection, connections
from django.db.models.sql import Query

from config.api.errors import ServiceUnavailable
from config.postgresql.replica import REPLICA, Known, ReplicaFailed
from config.supervision import job_forks
from config.supervision.job_forks import JobEnded, JobForks
from forms_app.models import Form
from submissions.exporting.formats import Parts, Rows, snapshot_parts
from submissions.models import Submission

Learned = tuple[int, Known | None]  # the rows of a part, and news of the replica
_forks = JobForks()
logger = logging.getLogger(__name__)


def start_export_processes() -> None:
    """Start the server of this process. Call it before threads and connections."""
    if connection.vendor == "postgresql":  # these need psycopg, which SQLite does not
        import_module("submissions.exporting.copied_csv")
        import_module("submissions.exporting.copied_records")
    _forks.start("web-exports", "web-export")


class Export:
    """An export of the present request: `columns` of the CSV or all, of the rows of `form` or of several."""

    def __init__(self, rows: Rows, chosen: str, form: Form | None, columns: Sequence[str]) -> None:
        self._rows = rows
        self._arguments = chosen, form, columns
        self._context = structlog.contextvars.get_contextvars()
        self._known = REPLICA.known(asks=True)

    def parts(self) -> Parts:
        """Return the text in parts with their numbers of rows, from another process if there is a server."""
        parts = _forks.run(_export, self._context, self._known, self._rows.query, *self._arguments)
        return snapshot_parts(self._rows, *self._arguments) if parts is None else _counted(parts)


def _counted(parts: job_forks.Parts) -> Parts:
    """Yield the parts with their numbers of rows, and empty ones while the process has none."""
    with closing(parts):
        try:
            for text, learned in parts:
                count, known = learned or (0, None)
                if known:
                    REPLICA.learn(known)
                yield text, count
        except JobEnded as error:
            logger.error("the process of an export was killed")
            raise ServiceUnavailable from error


def _export(
    context: dict[str, Any],
    known: Known | None,
    query: Query,
    chosen: str,
    form: Form | None,
    columns: Sequence[str],
) -> Generator[tuple[bytes, Learned], None, None]:
    """Yield the parts in the process of the export."""
    structlog.contextvars.bind_contextvars(**context)
    if known:
        REPLICA.learn(known)
    rows = Submission.objects.all()
    rows.query = query
    try:
        with closing(snapshot_parts(rows, chosen, form, columns)) as parts:
            for text, count in parts:
                yield text, (count, REPLICA.known(asks=False) if known else None)
                known = None
    except ReplicaFailed:
        yield b"", (0, REPLICA.known(asks=False))
        raise
    finally:
        connections.close_all()
