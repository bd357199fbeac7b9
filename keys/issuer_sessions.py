"""Sessions that an OpenID issuer has logged in, by allauth's record of how each session began."""

from collections.abc import Iterable, Mapping
from typing import Any

from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY, get_authentication_records
from django.http import HttpRequest

from keys.models import User

OIDC = "oidc"  # the method in the record


def issuer_of(session: Mapping[str, Any]) -> str:
    """Return the issuer that a session began with; "" for one that began otherwise."""
    return _issuer(session.get(AUTHENTICATION_METHODS_SESSION_KEY) or ())


def issuer_of_login(request: HttpRequest | None, user: User) -> str:
    """Return the same for a user who is logged in, or is about to be."""
    session = getattr(request, "session", None)
    return _issuer(get_authentication_records(request, user)) if session is not None else ""


def _issuer(records: Iterable[Mapping[str, Any]]) -> str:
    logins = (each for each in records if each["method"] == OIDC and not each.get("reauthenticated"))
    return next((str(each["issuer"]) for each in logins), "")
