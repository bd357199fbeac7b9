"""
The first middleware: request id, cookies, hosts, CORS, Permissions-Policy, and 503 instead of 500 without a database.

CORS is for the addresses that pages of any origin may call, and for no other (docs/contract.md 5). Not
django-cors-headers, which sends a fixed list: the preflight must echo the requested headers, and it must be answered
before a key is checked or a request is counted.
"""

import re
from collections.abc import Callable
from typing import cast

import structlog
from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from config.api.current_request import CURRENT
from config.api.error_pages import unavailable
from config.api.errors import ServiceUnavailable
from config.api.long_requests import give_back_place
from config.api.ratelimit import HEADERS
from config.base.database import is_away
from config.base.ids import request_id_for
from config.pages.addresses import PLAIN_POSTS, READ_BY_SCRIPTS, WITH_COOKIES, is_open, name_of
from config.pages.own_host import answer_of_host
from config.pages.policies import PERMISSIONS

REQUEST_ID = "X-Request-Id"
EXPOSED = ", ".join([*HEADERS, "Retry-After", REQUEST_ID, "Idempotent-Replayed"])
PREFLIGHT_SECONDS = 86_400  # a day; browsers have lower caps
_ORIGIN = re.compile(r"[!-~]{1,300}")
_HEADER_LIST = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,1024}")
GetResponse = Callable[[HttpRequest], HttpResponse]


class FieldpostMiddleware:
    """
    Remembers the request while it is answered, adds our headers, and answers what no view needs to see.

    The request id is that of the caller if its characters are safe; an answer that proxies keep for others gets none.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response
        # As Django does between two middlewares: the answer to an error gets our headers too.
        self._answer = convert_exception_to_response(self._answer_here)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = request_id_for(request.META.get("HTTP_X_REQUEST_ID", ""))
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        before = CURRENT.set(request)
        try:
            response = cast(HttpResponse, self._answer(request))
        finally:
            CURRENT.reset(before)
            give_back_place(request)
        _add_cors(request, response)
        if getattr(getattr(request, "session", None), "accessed", False):
            response.headers.setdefault("Cache-Control", "no-store")  # after a logout nobody reads it
        if response.status_code == 304:
            response.headers.pop("Content-Length", None)  # that of the 200, which we do not have (RFC 9110, 8.6)
        if "public" not in response.headers.get("Cache-Control", ""):
            response.headers[REQUEST_ID] = request_id
        return response

    def _answer_here(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(WITH_COOKIES):
            request.META.pop("HTTP_COOKIE", None)  # so the middlewares of sessions find nothing, and set nothing
        if _is_preflight(request):
            return _preflight(request)
        has_hosts = settings.FILES_ORIGIN or settings.PAGES_URL
        response = (answer_of_host(request) if has_hosts else None) or self._get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers["Permissions-Policy"] = PERMISSIONS
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the 503 for an unavailable database or an export that was killed, None for any other error."""
        is_unavailable = isinstance(exception, ServiceUnavailable) or is_away(exception)
        return unavailable(request, exception) if is_unavailable else None


def _is_preflight(request: HttpRequest) -> bool:
    is_asking = request.method == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in request.META
    return is_asking and is_open(name_of(request))


def _preflight(request: HttpRequest) -> HttpResponse:
    asked = request.META.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", "")
    response = HttpResponse(status=204)
    response.headers["Access-Control-Allow-Methods"] = "GET, POST, OPTIONS"
    if asked and _HEADER_LIST.fullmatch(asked):
        response.headers["Access-Control-Allow-Headers"] = asked
    response.headers["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
    response.headers["Vary"] = "Access-Control-Request-Headers"
    return response


def _add_cors(request: HttpRequest, response: HttpResponse) -> None:
    """
    Let any origin read the answers of open addresses, errors too, but no hosted form.

    Answers to plain posts name the origin instead of `*`: browsers send beacons with credentials, and want it then.
    """
    name = name_of(request)
    is_plain = name.startswith(PLAIN_POSTS)
    is_page = is_plain and request.method in ("GET", "HEAD") and name not in READ_BY_SCRIPTS
    if is_page or not is_open(name):
        return
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Access-Control-Expose-Headers"] = EXPOSED
    if is_plain:
        origin = request.META.get("HTTP_ORIGIN", "")
        if _ORIGIN.fullmatch(origin):
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Allow-Credentials"] = "true"
        patch_vary_headers(response, ["Origin"])
