"""`resume_organization SLUG`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from keys.models import Organization
from keys.suspension import resume_organization


class Command(BaseCommand):
    help = "Resume a suspended organization: it works as before, and waiting deliveries are sent."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the argument (docs/contract.md 8)."""
        parser.add_argument("slug")

    def handle(self, *args: Any, **options: Any) -> None:
        organization = Organization.objects.filter(slug=options["slug"]).first()
        if organization is None:
            raise CommandError(f"There is no organization with the slug {options['slug']!r}.")
        if not organization.is_suspended:
            self.stdout.write(f"{organization.slug} is not suspended.")
            return
        resume_organization(organization, by=None)
        self.stdout.write(f"{organization.slug} works again.")
