"""System checks that read the database: `check --database default`, which `migrate` and `serve` run."""

from collections.abc import Iterator, Sequence

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import DEFAULT_DB_ALIAS
from django.db import Error as DatabaseError

from keys.models import Organization, User


@register(Tags.database)
def check_organization_of_new_people(
    databases: Sequence[str] | None = None, **_arguments: object
) -> Iterator[CheckMessage]:
    """A misspelled OIDC_ORGANIZATION would turn everybody away. A new installation has none yet."""
    slug = settings.OIDC_ORGANIZATION
    if not slug or DEFAULT_DB_ALIAS not in (databases or ()):
        return
    try:
        is_there, has_people = Organization.objects.filter(slug=slug).exists(), User.objects.exists()
    except DatabaseError:  # it has no tables yet, or is away: others say so
        return
    if not is_there:
        message = f"OIDC_ORGANIZATION: there is no organization {slug!r}."
        hint = (
            "Set it to the part of its address after /dashboard/o/, or remove it: new people need an invitation then."
        )
        severity, number = (Error, "fieldpost.E031") if has_people else (checks.Warning, "fieldpost.W009")
        yield severity(message, hint=hint, id=number)
