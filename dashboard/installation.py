"""
Whose installation it is: who may make accounts and organizations, and its first person.

The first person proves with a token of SECRET_KEY, which the log shows, that the installation is theirs.
"""

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import Error, transaction
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare, salted_hmac

from config.base.database import is_away, lock_name
from config.base.text import clean_name
from forms_app.sign_up import create_organization
from keys.models import User
from keys.plans import Plan

_people: list[bool] = []  # holds a True once anybody exists: an installation does not lose all its people again


class AlreadySetUp(Exception):
    """Somebody else was faster."""


def installation(request: HttpRequest) -> dict[str, bool | str]:
    """
    Context processor: `is_open` for strangers to sign up, `sells_plans`, `may_make_organizations`.

    `oidc_name`: of single sign-on, "" without it. `oidc_only`: nothing else logs in.
    """
    return {
        "is_open": is_open(),
        "sells_plans": sells_plans(),
        "oidc_name": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
        "oidc_only": settings.OIDC_ONLY,
        # Pages of errors that occur before anybody is known have no user.
        "may_make_organizations": hasattr(request, "user") and may_make_organizations(request.user),
    }


def is_open() -> bool:
    """Return whether strangers may make an account."""
    return bool(settings.SIGN_UP == "open" and not settings.OIDC_ONLY)


def sells_plans() -> bool:
    """Return whether plans are something to ask for. On one's own installation everything is on from the start."""
    return bool(settings.DEFAULT_PLAN != Plan.ENTERPRISE)


def may_make_organizations(user: User | AnonymousUser) -> bool:
    """Return whether this person may make a further organization in the dashboard."""
    return bool(settings.ORGANIZATIONS == "open" or user.is_staff)


def has_people() -> bool:
    """Return whether anybody has an account."""
    if not _people and User.objects.exists():
        _people.append(True)
    return bool(_people)


def setup_token() -> str:
    """Return the first person's proof, the same in every process."""
    return salted_hmac("fieldpost.setup", "", algorithm="sha256").hexdigest()[:32]


def is_setup_token(text: str) -> bool:
    """Return whether this is the proof."""
    return constant_time_compare(text.strip(), setup_token())


def setup_line() -> str:
    """Return the line with the first person's link; "" once there is a person, and while there is no database."""
    try:
        return "" if has_people() else f"Set up: {settings.PUBLIC_URL}/setup?token={setup_token()}\n"
    except Error as error:
        if not is_away(error):
            raise
        return ""


def set_up(*, organization: str, name: str, email: str, password: str | None, language: str) -> User:
    """
    Create the first organization and its owner, who is an operator, with a verified address.

    `password`: None where nobody has one.
    Raises AlreadySetUp, and ValueError for an organization's name as `create_organization` does.
    """
    with transaction.atomic():
        lock_name("setup")
        if User.objects.exists():
            raise AlreadySetUp
        user = User.objects.create_superuser(email, password, name=clean_name(name), language=language)
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
        create_organization(name=organization, owner=user, by=user, number_taken_slugs=True, language=language)
    return user
