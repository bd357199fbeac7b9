"""Exports of a web process, each in its own process (docs/adr/0108)."""

import logging
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import structlog
from django.conf import settings
from django.db import connections
from django.db.models.sql import Query

from config.api.errors import ServiceUnavailable
from config.environment.postgresql import role
from config.supervision import jobs
from forms_app.models import Form
from submissions.exporting.formats import snapshot_parts
from submissions.exporting.rows import Parts, Rows
from submissions.models import Submission

logger = logging.getLogger(__name__)
jobs.preload(__name__)


def export_parts(rows: Rows, chosen: str, form: Form | None, columns: Sequence[str]) -> Parts:
    """
    Return the text of an export in parts with their numbers of rows.

    `columns`: those of the CSV, or all without any; of the rows of `form`, or of several. A web process has it made by
    another one.
    """
    if role() != "web":
        return snapshot_parts(rows, chosen, form, columns)
    context = structlog.contextvars.get_contextvars()
    return _counted(jobs.run(_export, context, rows.query, chosen, form, columns))


def _counted(parts: jobs.Parts) -> Parts:
    """
    Yield the parts with their numbers of rows, and empty ones while the process has none.

    Raises ServiceUnavailable without rows for longer than a statement may last.
    """
    polls = 0
    with closing(parts):
        try:
            for text, count in parts:
                polls = 0 if text else polls + 1
                if 0 < settings.LONG_STATEMENT_SECONDS < polls * jobs.POLL_SECONDS:
                    raise ServiceUnavailable
                yield text, count or 0
        except jobs.JobEnded as error:
            logger.error("the process of an export was killed or could not be started")
            raise ServiceUnavailable from error


def _export(
    context: dict[str, Any],
    query: Query,
    chosen: str,
    form: Form | None,
    columns: Sequence[str],
) -> Parts:
    """Yield the parts in the process of the export."""
    structlog.contextvars.bind_contextvars(**context)
    rows = Submission.objects.all()
    rows.query = query
    try:
        with closing(snapshot_parts(rows, chosen, form, columns)) as parts:
            yield from parts
    finally:
        connections.close_all()
