"""`resume_organization SLUG`."""

from typing import Any

from django.core.management.base import CommandParser

from keys.management.operator_command import OperatorCommand, find_organization
from keys.suspension import resume_organization


class Command(OperatorCommand):
    help = "Resume a suspended organization: it works as before, and waiting deliveries are sent."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")

    def handle(self, *args: Any, **options: Any) -> None:
        organization = find_organization(options["slug"])
        if not organization.is_suspended:
            self.stdout.write(f"{organization.slug} is not suspended.")
            return
        resume_organization(organization, by=None)
        self.stdout.write(f"{organization.slug} works again.")
