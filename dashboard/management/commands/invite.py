"""`invite EMAIL --organization SLUG [--role ROLE]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from config.api.errors import ApiError
from dashboard.invitation_mail import invitation_link
from keys.invitations import invite
from keys.management.operator_command import OperatorCommand, find_organization
from keys.models import Role


class Command(OperatorCommand):
    help = "Invite a person and print the link that lets them in, with a new account or their own."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--organization", required=True, metavar="SLUG")
        parser.add_argument("--role", choices=Role.values, default=Role.MEMBER.value)

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the link, which proves an address: send it to nobody else."""
        organization = find_organization(options["organization"])
        try:
            _, token = invite(organization=organization, email=options["email"], role=Role(options["role"]), by=None)
        except ApiError as error:
            raise CommandError(error.message) from None
        self.stdout.write(invitation_link(token))
