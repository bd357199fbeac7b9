"""
Exports: CSV, JSON, NDJSON; oldest first, one snapshot, constant memory (docs/contract.md 5).

Each export of a web process is made in a separate process (docs/adr/0108).
"""

import logging
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

import structlog
from django.conf import settings
from django.db import connections
from django.db.models.sql import Query
from django.http import StreamingHttpResponse
from django.utils.text import slugify
from django.utils.translation import gettext_lazy
from rest_framework import serializers

from config.api.errors import ServiceUnavailable
from config.api.serializers import QuerySerializer
from config.environment.postgresql import role
from config.supervision import jobs
from forms_app.models import Form
from submissions.exporting.csv_columns import ColumnsField
from submissions.exporting.formats import EXPORTS, snapshot_parts
from submissions.exporting.response import stream_file
from submissions.exporting.rows import Parts, Rows
from submissions.models import Submission

ONLY_CSV = gettext_lazy("Only CSV has columns. Leave `columns` out, or choose the format csv.")
REPORT_SECONDS = 0.5  # between two reports of the progress
Progress = Callable[[int, bool], object]

logger = logging.getLogger(__name__)
jobs.preload(__name__)


def ignore(rows: int, is_whole: bool) -> None:
    """Ignore the progress of an export."""


class ExportQuery(QuerySerializer):
    """`?format=` and `?columns=`."""

    format = serializers.ChoiceField([*EXPORTS], default="csv")
    columns = ColumnsField(default=list)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse columns for a format without any: they would be ignored."""
        if attrs["columns"] and attrs["format"] != "csv":
            raise serializers.ValidationError({"columns": [ONLY_CSV]}, code="not_allowed")
        return attrs


def _reported(parts: Parts, report: Progress) -> Generator[bytes, None, None]:
    with closing(parts):
        written, reported = 0, time.monotonic()
        for chunk, count in parts:
            yield chunk
            written += count
            if time.monotonic() - reported > REPORT_SECONDS:
                report(written, False)
                reported = time.monotonic()
        report(written, True)


def stream_export(
    rows: Rows,
    chosen: str,
    *,
    organization_id: uuid.UUID,
    form: Form | None,
    report: Progress = ignore,
    columns: Sequence[str] = (),
) -> StreamingHttpResponse:
    """
    Return the response that streams an export. Raises RateLimited, and errors that occur before its first part.

    `report(rows, is_whole)` is called with the number of rows written so far, at the end exact.
    """
    parts = _reported(export_parts(rows, chosen, form, columns), report)
    name = (form and slugify(form.name)[:60]) or "submissions"
    return stream_file(parts, EXPORTS[chosen][0], name, chosen, by=organization_id)


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
    structlog.contextvars.bind_contextvars(**context)
    rows = Submission.objects.all()
    rows.query = query
    try:
        with closing(snapshot_parts(rows, chosen, form, columns)) as parts:
            yield from parts
    finally:
        connections.close_all()
