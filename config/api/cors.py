"""
CORS for the paths that pages of any origin may call, and for no other (docs/contract.md 5).

Not django-cors-headers, which sends a fixed list: the preflight must echo the requested headers, and it must be
answered before a key is checked or a request is counted.
"""

import re

from django.http import HttpRequest, HttpResponse

from config.api.middleware import REQUEST_ID, GetResponse
from config.api.ratelimit import HEADERS

OPEN_PATHS = re.compile(r"/api/submit|/f/[^/]+|/forms(\.[^/]+)?\.js")
EXPOSED = ", ".join([*HEADERS, "Retry-After", REQUEST_ID, "Idempotent-Replayed"])
PREFLIGHT_SECONDS = 86_400  # a day; browsers have lower caps
CHALLENGE = "/f/challenge"  # besides posts to /f/, the path below /f/ that scripts of any origin may read
_HEADER_LIST = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,1024}")


class CorsMiddleware:
    """Answers preflights of the open paths, and lets any origin read their responses, including errors."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not OPEN_PATHS.fullmatch(request.path_info) or _shows_a_page(request):
            return self.get_response(request)
        is_preflight = request.method == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in request.META
        response = self._preflight(request) if is_preflight else self.get_response(request)
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Access-Control-Expose-Headers"] = EXPOSED
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


def _shows_a_page(request: HttpRequest) -> bool:
    """Return whether the response is a hosted form: scripts of other origins may post to it but not read it."""
    is_form = request.path_info.startswith("/f/") and request.path_info != CHALLENGE
    return is_form and request.method in ("GET", "HEAD")
