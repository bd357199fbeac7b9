"""Middleware of API and pages: a request id, and 503 instead of 500 while the database is unavailable."""

import re
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse
from uuid_utils.compat import uuid4

from config.api.errors import error_response
from config.database import is_away

REQUEST_ID = "X-Request-Id"
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{1,64}")
GetResponse = Callable[[HttpRequest], HttpResponse]


class RequestIdMiddleware:
    """Adds an id to the log lines and the response. A caller's own id is kept if its characters are safe."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = given if _ACCEPTABLE.fullmatch(given) else uuid4().hex
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        response.headers[REQUEST_ID] = request_id
        if request.META.get("CONTENT_LENGTH") not in (None, "", "0") and not body_was_read(request):
            response.headers["Connection"] = "close"  # the rest of this body would be read as the next request
        return response


def body_was_read(request: HttpRequest) -> bool:
    """Return whether the request's body was read, at least in part."""
    return bool(getattr(request, "_read_started", True))


class UnavailableMiddleware:
    """Turns an unavailable or overloaded database into 503 with Retry-After, also outside the API's views."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the 503 for an unavailable database, None for any other error."""
        return error_response(exception) if is_away(exception) else None
