"""
`POST /api/submit` as a separate WSGI application: the view inside the few middlewares that matter to it.

Django's resolver, signals and other middlewares take a seventh of a submission's processor time (docs/adr/0099). A test
compares both ways, header by header.
"""

from collections.abc import Callable, Iterable
from typing import Any, cast

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIRequest
from django.db import connections
from django.http import HttpResponse
from django.urls import resolve
from django.utils.module_loading import import_string

PATH = "/api/submit"
MIDDLEWARE = {  # of the settings, in their order: all others are for pages
    "config.api.middleware.FieldpostMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
}


class SubmitApplication:
    """Answers posts to PATH. Make it when Django is set up."""

    def __init__(self) -> None:
        self._match = resolve(PATH)
        self._answer = convert_exception_to_response(self._match.func)
        for name in reversed([name for name in settings.MIDDLEWARE if name in MIDDLEWARE]):
            self._answer = convert_exception_to_response(import_string(name)(self._answer))

    @staticmethod
    def takes(environ: dict[str, Any]) -> bool:
        """Return whether a request is answered here. Sentry learns of a request from Django's handler."""
        return environ["PATH_INFO"] == PATH and environ["REQUEST_METHOD"] == "POST" and not settings.SENTRY_DSN

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        request = WSGIRequest(environ)
        request.resolver_match = self._match
        try:
            response = cast(HttpResponse, self._answer(request))
        finally:  # as at Django's signal of the end, for the only connection that is used here
            connections["default"].close_if_unusable_or_obsolete()
        start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
        return [response.content]
