"""`suspend_organization SLUG [--reason R]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from keys.management.operator_command import OperatorCommand, find_organization
from keys.suspension import suspend_organization


class Command(OperatorCommand):
    help = "Suspend an organization: its keys and forms are refused, its deliveries wait. Nothing is deleted."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--reason", default="", help="shown to the organization's members")

    def handle(self, *args: Any, **options: Any) -> None:
        organization = find_organization(options["slug"])
        try:
            suspend_organization(organization, reason=options["reason"], by=None)
        except ValueError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{organization.slug} is suspended. Undo it with resume_organization {organization.slug}.")
