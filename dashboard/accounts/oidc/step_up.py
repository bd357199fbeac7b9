"""How accounts confirm a sensitive change where there is single sign-on."""

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext

from keys.models import Identity, User


def has_identity(user: User, subject: str | None = None) -> bool:
    """Return whether an account is linked at the issuer; to this `sub`, if one is given."""
    found = Identity.objects.filter(user=user, issuer=settings.OIDC_ISSUER)
    return (found if subject is None else found.filter(subject=subject)).exists()


def has_password(user: User) -> bool:
    """Return whether a password logs this user in."""
    return user.has_usable_password() and not settings.OIDC_ONLY


def methods_with_issuer(user: User, methods: list[dict[str, str]]) -> list[dict[str, str]]:
    """
    Return the ways to confirm, the first one first; for an account without a password that is the issuer's page.

    There is none for one that is not linked either: the adapter then has a code mailed.
    """
    if has_password(user):
        mine = [{"id": "oidc", "description": _use_issuer(), "url": reverse("oidc-confirm")}]
        return methods + (mine if has_identity(user) else [])
    others = [each for each in methods if each["id"] != "reauthenticate"]
    page = {"id": "oidc", "description": _use_issuer(), "url": reverse("account_reauthenticate")}
    return [page, *others] if has_identity(user) else others


def _use_issuer() -> str:
    return gettext("Use %(name)s") % {"name": settings.OIDC_NAME}
