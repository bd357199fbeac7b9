"""Exports: CSV, JSON, NDJSON; oldest first, one snapshot, constant memory (docs/contract.md 5)."""

import time
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

from django.http import StreamingHttpResponse
from django.utils.text import slugify
from django.utils.translation import gettext_lazy
from rest_framework import serializers

from config.api.serializers import QuerySerializer
from forms_app.models import Form
from submissions.exporting.columns import ColumnsField
from submissions.exporting.formats import EXPORTS
from submissions.exporting.processes import export_parts
from submissions.exporting.response import stream_file
from submissions.exporting.rows import Parts, Rows

ONLY_CSV = gettext_lazy("Only CSV has columns. Leave `columns` out, or choose the format csv.")
REPORT_SECONDS = 0.5  # between two reports of the progress
Progress = Callable[[int, bool], object]


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
