"""
Step-up: changes that decide who reads an organization's data need a recent proof of the user (docs/adr/0040).

Logging in is such a proof, and so is the password, code or passkey that allauth asks for again. A form that was sent
too late is kept in the session and submitted after the answer.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from allauth.account.authentication import get_authentication_records
from allauth.core.exceptions import ReauthenticationRequired
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from dashboard.accounts.remote_user import began_with
from dashboard.accounts.session_store import LOGGED_IN_AT

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
P = ParamSpec("P")
R = TypeVar("R", bound=HttpRequest)
View = Callable[Concatenate[R, P], HttpResponseBase]


def note_login(request: HttpRequest) -> None:
    request.session[LOGGED_IN_AT] = time.time()


def is_fresh(request: HttpRequest) -> bool:
    """
    Return whether the user logged in, or entered a password, code or passkey, a few minutes ago.

    A login by the header of a proxy needs nobody at the keyboard, and happens again whenever the session is dropped.
    """
    proofs = [0.0 if began_with(request) else request.session.get(LOGGED_IN_AT, 0.0)]
    records = get_authentication_records(request, request.user)
    proofs += [each["at"] for each in records if each.get("reauthenticated") or each["method"] == "mfa"]
    return bool(time.time() - max(proofs) < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT)


def fresh_to_open(view: View[R, P]) -> View[R, P]:
    """Require a fresh login for the page itself, and again if it became stale before its form is sent."""
    return _guarded(view, but=())


def fresh_to_change(view: View[R, P]) -> View[R, P]:
    """Require a fresh login for the page's form, not for reading the page."""
    return _guarded(view, but=SAFE_METHODS)


def _guarded(view: View[R, P], *, but: tuple[str, ...]) -> View[R, P]:
    @wraps(view)
    def guarded(request: R, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method not in but and not is_fresh(request):
            if request.method not in SAFE_METHODS and request.GET:
                request.META["QUERY_STRING"] = ""  # allauth keeps GET, but resumes only an address without a query
            raise ReauthenticationRequired  # AccountMiddleware keeps the request and redirects to the question
        return view(request, *args, **kwargs)

    return guarded
