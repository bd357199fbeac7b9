"""`export_submissions FORM_ID [--format csv] [--columns A,B] [--from D] [--to D] [--spam false] [--q TEXT]`."""

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.http import QueryDict

from config.api.errors import ApiError
from config.api.serializers import flatten
from forms_app.models import Form
from keys.management.operator_command import OperatorCommand
from submissions.exporting.formats import EXPORTS, snapshot_parts
from submissions.exporting.stream import ExportQuery
from submissions.reading.filters import SubmissionFilters

FILTERS = ("from", "to", "spam", "q")


class Command(OperatorCommand):
    help = "Write the submissions of a form to standard output, oldest first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("form_id", metavar="FORM_ID", help="such as frm_01jd…")
        parser.add_argument("--format", choices=[*EXPORTS], default="csv")
        parser.add_argument("--columns", metavar="A,B", help="the columns of CSV, in this order; all without it")
        for name in FILTERS:
            parser.add_argument(f"--{name}", dest=f"filter_{name}")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = ExportQuery(data={name: options[name] for name in ("format", "columns") if options[name] is not None})
        if not chosen.is_valid():
            raise CommandError(next(flatten(chosen.errors)).message)
        query = QueryDict(mutable=True)
        query["formId"] = options["form_id"]
        query.update({name: options[f"filter_{name}"] for name in FILTERS if options[f"filter_{name}"]})
        filters = SubmissionFilters(data=query)
        if not filters.is_valid():
            raise CommandError(filters.form.errors.as_text())
        form = Form.objects.filter(pk=filters.form.cleaned_data["formId"]).first()
        if form is None:
            raise CommandError("There is no form with this id.")
        try:
            rows = filters.scope(form.organization_id).rows().order_by("id")
        except ApiError as error:
            raise CommandError(error.message) from None
        for chunk, _ in snapshot_parts(rows, options["format"], form, chosen.validated_data["columns"]):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
