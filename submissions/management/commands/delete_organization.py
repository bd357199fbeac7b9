"""`delete_organization SLUG --yes`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from keys.management.operator_command import OperatorCommand, find_organization
from keys.suspension import request_deletion
from submissions.lifecycle.closing import delete_organization
from submissions.models import Submission


class Command(OperatorCommand):
    help = "Delete an organization of any size now. If it is interrupted, the clean-up or a second call continues."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--yes", action="store_true", help="without it, nothing is deleted")

    def handle(self, *args: Any, **options: Any) -> None:
        organization = find_organization(options["slug"])
        if not options["yes"]:
            stored = Submission.objects.filter(organization=organization).count()
            raise CommandError(
                f"This deletes {organization.name} with {stored:,} submissions permanently. Add --yes to do it."
            )
        request_deletion(organization, by=None)
        delete_organization(organization, by=None)
        self.stdout.write(f"{options['slug']} is deleted.")
