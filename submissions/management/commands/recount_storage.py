"""`recount_storage [SLUG]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from keys.management.operator_command import OperatorCommand
from keys.models import Organization
from submissions.counts.stored_bytes import recount


class Command(OperatorCommand):
    help = "Count the stored bytes again, of one organization or of all, and correct their totals."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", nargs="?", help="all organizations without it")

    def handle(self, *args: Any, **options: Any) -> None:
        organizations = Organization.objects.order_by("slug")
        if options["slug"]:
            organizations = organizations.filter(slug=options["slug"])
            if not organizations:
                raise CommandError(f"There is no organization with the slug {options['slug']!r}.")
        for organization in organizations:
            self.stdout.write(f"{organization.slug}: {recount(organization):,} bytes")
