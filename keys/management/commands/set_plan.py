"""`set_plan SLUG PLAN [--rate-limit N] [--storage-limit BYTES]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from keys.management.operator_command import OperatorCommand, find_organization
from keys.organizations import parse_plan, set_plan


class Command(OperatorCommand):
    help = "Change the plan of an organization."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("plan", help="Free, Pro or Enterprise, in any case")
        parser.add_argument("--rate-limit", type=int, metavar="N", help="requests per hour, Enterprise only")
        parser.add_argument("--storage-limit", type=int, metavar="BYTES", help="stored bytes, Enterprise only")

    def handle(self, *args: Any, **options: Any) -> None:
        organization = find_organization(options["slug"])
        try:
            limits = {"rate_limit": options["rate_limit"], "storage_limit": options["storage_limit"]}
            set_plan(organization, parse_plan(options["plan"]), by=None, **limits)
        except ValueError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{organization.slug}: {organization.get_plan_display()}, ", ending="")
        self.stdout.write(f"{organization.hourly_limit:,} requests per hour.")
