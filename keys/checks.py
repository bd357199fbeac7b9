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
    message = f"OIDC_ORGANIZATION: there is no organization {slug!r}."
    hint = "Set it to the part of its address after /dashboard/o/, or remove it: new people need an invitation then."
    if not is_there and has_people:
        yield Error(message, hint=hint, id="fieldpost.E031")
    elif not is_there:
        yield checks.Warning(message, hint=hint, id="fieldpost.W009")
