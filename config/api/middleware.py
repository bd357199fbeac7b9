"""
Middleware of API and pages: a request id, CORS, a policy, and 503 instead of 500 without a database.

CORS is for the paths that pages of any origin may call, and for no other (docs/contract.md 5). Not
django-cors-headers, which sends a fixed list: the preflight must echo the requested headers, and it must be answered
before a key is checked or a request is counted.
"""

import re
from collections.abc import Callable

import structlog
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from config.api.current_request import CURRENT
from config.api.error_pages import unavailable
from config.api.errors import ServiceUnavailable
from config.api.ratelimit import HEADERS
from config.database import is_away
from config.ids import request_id_for
from config.pages.policies import PERMISSIONS
from config.postgresql.watch import FAILURE, WATCH

REQUEST_ID = "X-Request-Id"
OPEN_PATHS = re.compile(r"/api/submit|/api/schema|/forms(\.[^/]+)?\.js")
# The addresses that other form services give their forms (docs/moving.md): submissions.hosted.moved_urls.
OTHER_ADDRESSES = r"/submit/?|/s/[^/]+/?|/p/[^/]+/f/[^/]+/?|/ajax/[^/]+/?|/frm_[^/]+/?|/[^/]*@[^/]*/?|/[0-9a-f]{32}/?"
# Plain posts: their answers are for pages that send credentials too. No cookie is read or set there.
PLAIN_POSTS = re.compile(rf"/f/.+|{OTHER_ADDRESSES}")
NEEDS_NO_DATABASE = ("/healthz", "/forms", "/static/", "/.well-known/", "/docs", "/llms.txt")  # how such paths begin
EXPOSED = ", ".join([*HEADERS, "Retry-After", REQUEST_ID, "Idempotent-Replayed"])
PREFLIGHT_SECONDS = 86_400  # a day; browsers have lower caps
CHALLENGE = "/f/challenge"  # besides posts to /f/, scripts of any origin may read this path
BRAND = "/f/brand/"  # how the addresses of logos begin
THANKS = "/thanks"  # and those with this end
_ORIGIN = re.compile(r"[!-~]{1,300}")
_HEADER_LIST = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,1024}")
GetResponse = Callable[[HttpRequest], HttpResponse]


class RequestIdMiddleware:
    """
    Remembers the request while it is answered, and adds an id to the log lines and the response.

    A caller's own id is kept if its characters are safe. An answer that proxies keep for others gets none.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = request_id_for(request.META.get("HTTP_X_REQUEST_ID", ""))
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        before = CURRENT.set(request)
        try:
            response = self.get_response(request)
        finally:
            CURRENT.reset(before)
        if "public" not in response.headers.get("Cache-Control", ""):
            response.headers[REQUEST_ID] = request_id
        if request.META.get("CONTENT_LENGTH") not in (None, "", "0") and not body_was_read(request):
            response.headers["Connection"] = "close"  # the rest of this body would be read as the next request
        return response


def body_was_read(request: HttpRequest) -> bool:
    """Return whether the request's body was read, at least in part."""
    return bool(getattr(request, "_read_started", True))


class CorsMiddleware:
    """Answers preflights of the open paths, and lets any origin read their responses, including errors."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_plain = PLAIN_POSTS.fullmatch(request.path_info) is not None
        if not (is_plain or OPEN_PATHS.fullmatch(request.path_info)) or (is_plain and _shows_a_page(request)):
            return self.get_response(request)
        is_preflight = request.method == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in request.META
        response = self._preflight(request) if is_preflight else self.get_response(request)
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Access-Control-Expose-Headers"] = EXPOSED
        if is_plain:
            _echo_origin(request, response)
        return response

    def _preflight(self, request: HttpRequest) -> HttpResponse:
        asked = request.META.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", "")
        response = HttpResponse(status=204)
        response.headers["Access-Control-Allow-Methods"] = "GET, POST, OPTIONS"
        if asked and _HEADER_LIST.fullmatch(asked):
            response.headers["Access-Control-Allow-Headers"] = asked
        response.headers["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
        response.headers["Vary"] = "Access-Control-Request-Headers"
        return response


def _echo_origin(request: HttpRequest, response: HttpResponse) -> None:
    """Allow credentials, which browsers send with beacons: for them the origin must be named instead of `*`."""
    origin = request.META.get("HTTP_ORIGIN", "")
    if _ORIGIN.fullmatch(origin):
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Allow-Credentials"] = "true"
    patch_vary_headers(response, ["Origin"])


def _shows_a_page(request: HttpRequest) -> bool:
    """
    Return whether the response is a hosted form: scripts of other origins may post to it but not read it.

    They may read the thank-you page, where a redirect leads those that asked for no JSON.
    """
    is_for_scripts = request.path_info == CHALLENGE or request.path_info.endswith(THANKS)
    return request.method in ("GET", "HEAD") and not is_for_scripts


class UnavailableMiddleware:
    """
    Turns an unavailable or overloaded database into 503 with Retry-After, also outside the API's views.

    While PostgreSQL does not answer at all, the request is refused before it waits for a connection.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if WATCH.is_frozen and not request.path_info.startswith(NEEDS_NO_DATABASE):
            return unavailable(request, OperationalError(FAILURE))
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the 503 for an unavailable database or an export that was killed, None for any other error."""
        is_unavailable = isinstance(exception, ServiceUnavailable) or is_away(exception)
        return unavailable(request, exception) if is_unavailable else None


class PermissionsPolicyMiddleware:
    """Adds Permissions-Policy to every page."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers["Permissions-Policy"] = PERMISSIONS
        return response
