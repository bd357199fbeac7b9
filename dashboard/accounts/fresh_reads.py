"""
Users see their own changes immediately, although lists come from a replica (docs/adr/0102).

After a change a cookie makes the lists of this browser come from the primary, for longer than a replica that is read is
ever behind. It is only in use with DATABASE_REPLICA_URL. Forged, it does no more than that.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from config.postgresql.replica import LATE_SECONDS, fresh

SECONDS = int(LATE_SECONDS) + 2
NAME = "__Host-fresh" if settings.SESSION_COOKIE_SECURE else "fieldpost_fresh"
PAGES = ("/dashboard", "/account", "/admin")
SAFE = ("GET", "HEAD", "OPTIONS")


class FreshReadsMiddleware:
    """Runs requests that may change something, and those shortly after, on the primary only."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer; after a change set the cookie."""
        if not request.path_info.startswith(PAGES):
            return self.get_response(request)
        if request.method in SAFE and NAME not in request.COOKIES:
            response = self.get_response(request)
        else:
            with fresh():
                response = self.get_response(request)
        if request.method not in SAFE or getattr(request, "has_changed_something", False):
            response.set_cookie(
                NAME, "1", max_age=SECONDS, secure=settings.SESSION_COOKIE_SECURE, httponly=True, samesite="Lax"
            )
        return response


def note_change(request: HttpRequest) -> None:
    """Note that a GET has changed something that lists show, such as the mark of unread submissions."""
    request.has_changed_something = True  # type: ignore[attr-defined]  # ours
