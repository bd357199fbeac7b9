"""`export_submissions FORM_ID [--format csv] [--from D] [--to D] [--spam false] [--q TEXT]`."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.http import QueryDict

from config.api.errors import ApiError
from forms_app.models import Form
from submissions.exporting.stream import EXPORTS, export_chunks
from submissions.models import Submission
from submissions.reading.filters import SubmissionFilters
from submissions.receiving.parse_body import parse_form_id

FILTERS = ("from", "to", "spam", "q")


class Command(BaseCommand):
    help = "Write the submissions of a form to standard output, oldest first."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options: those of GET /api/submissions/export."""
        parser.add_argument("form_id", metavar="FORM_ID", help="such as frm_01jd…")
        parser.add_argument("--format", choices=[*EXPORTS], default="csv")
        for name in FILTERS:
            parser.add_argument(f"--{name}", dest=f"filter_{name}")

    def handle(self, *args: Any, **options: Any) -> None:
        """Stream the export."""
        try:
            form = Form.objects.filter(pk=parse_form_id(options["form_id"])).first()
        except ApiError as error:
            raise CommandError(error.message) from None
        if form is None:
            raise CommandError("There is no form with this id.")
        query = QueryDict(mutable=True)
        query.update({name: options[f"filter_{name}"] for name in FILTERS if options[f"filter_{name}"]})
        filterset = SubmissionFilters(data=query, queryset=Submission.objects.filter(form=form).order_by("id"))
        if not filterset.is_valid():
            raise CommandError(filterset.form.errors.as_text())
        try:
            rows = filterset.qs
        except ApiError as error:
            raise CommandError(error.message) from None
        for chunk in export_chunks(rows, options["format"], form):
            sys.stdout.buffer.write(chunk.encode())
        sys.stdout.buffer.flush()
