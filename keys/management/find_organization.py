"""The organization that an operator names in a command."""

from django.core.management.base import CommandError

from keys.models import Organization


def find_organization(slug: str) -> Organization:
    """Return the organization with this slug. Raises CommandError if there is none."""
    organization = Organization.objects.filter(slug=slug).first()
    if organization is None:
        raise CommandError(f"There is no organization with the slug {slug!r}.")
    return organization
