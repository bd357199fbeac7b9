"""
`POST /api/submit` without the parts of Django that every request passes: signals, resolver, eight middlewares.

They take a quarter of a submission's processor time (docs/adr/0099), and do two things to this path: they add headers
that are the same in every answer, and they refuse some requests. So the headers are taken from the middlewares once,
at the start, and a request that they may refuse takes the ordinary way, as all other methods do. A new middleware whose
effect on this path depends on the request needs a line in `_is_ordinary`.
"""

from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.handlers.exception import response_for_exception
from django.core.handlers.wsgi import WSGIRequest
from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port, validate_host
from django.urls import resolve

from config.api.current_request import CURRENT
from config.api.errors import error_response
from config.api.middleware import REQUEST_ID
from config.api.parsing import JSON_MEDIA_TYPE
from config.database import is_away
from config.ids import request_id_for
from config.postgresql.watch import WATCH
from config.web_server import wsgi_bridge
from config.web_server.short_handler import ShortHandler
from config.web_server.spool import SpooledBody
from config.web_server.wsgi_bridge import Answer, Headers

PATH = "/api/submit"
CONTENT_LENGTH = b"content-length"
OF_EACH_ANSWER = (REQUEST_ID.lower().encode(), b"content-type", CONTENT_LENGTH)  # so not taken from the first one
MAX_HOST = 300  # characters: a strange Host is not kept in memory
FILES_HOST = urlsplit(settings.FILES_ORIGIN).netloc.lower()


class SubmitHandler:
    """Answers posts to PATH. `ordinary`: the way of all other requests. Make it when Django is set up."""

    def __init__(self, ordinary: ShortHandler) -> None:
        self._ordinary = ordinary
        self._view = resolve(PATH).func
        self._headers = {scheme: _headers_of_middleware(scheme) for scheme in ("http", "https")}

    @staticmethod
    def takes(scope: Any) -> bool:
        """Return whether a request is answered here."""
        # Sentry learns of a request from the handler of Django.
        return bool(scope["method"] == "POST" and scope["path"] == PATH and not settings.SENTRY_DSN)

    def answer(self, scope: Any, body: bytes | SpooledBody | None) -> Answer:
        """Return the answer. `body`: None if it was not read. Runs in a thread, as `wsgi_bridge.call`."""
        answer = self.respond(wsgi_bridge.environ_of(scope, body)) if body is not None else None
        return answer or wsgi_bridge.call(self._ordinary, scope, body)

    def respond(self, environ: dict[str, Any]) -> Answer | None:
        """Return the answer, None if the request takes the ordinary way."""
        request = WSGIRequest(environ)
        if not _is_ordinary(request):
            return None
        request_id = request_id_for(request.META.get("HTTP_X_REQUEST_ID", ""))
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        before = CURRENT.set(request)
        try:
            response = self._view_response(request)
        finally:
            CURRENT.reset(before)
            connections["default"].close_if_unusable_or_obsolete()  # back to the pool
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.items()]
        headers += self._headers[str(request.scheme)]
        headers.append((OF_EACH_ANSWER[0], request_id.encode()))
        headers.append((CONTENT_LENGTH, str(len(response.content)).encode()))
        if environ.get("CONTENT_LENGTH") not in (None, "", "0") and not getattr(request, "_read_started", True):
            headers.append((b"connection", b"close"))  # as FieldpostMiddleware
        return Answer(response.status_code, headers, response.content, iter(()), lambda: None)

    def _view_response(self, request: HttpRequest) -> HttpResponse:
        try:
            response: HttpResponse = self._view(request)
        except Exception as error:  # the view answers most by itself; this is UnavailableMiddleware, then Django
            return error_response(error) if is_away(error) else response_for_exception(request, error)
        return response


def _is_ordinary(request: HttpRequest) -> bool:
    """Return whether no middleware refuses this request."""
    host = request.META.get("HTTP_HOST", "")
    return not WATCH.is_frozen and len(host) <= MAX_HOST and _answers_here(host)


@lru_cache(maxsize=1000)
def _answers_here(host: str) -> bool:
    """Return whether a Host header names the service, and not the host that answers only files."""
    domain, _port = split_domain_port(host)
    return bool(domain) and host.lower() != FILES_HOST and validate_host(domain, settings.ALLOWED_HOSTS)


class _Empty(ShortHandler):
    """The middlewares around an empty answer."""

    def _get_response(self, _request: HttpRequest) -> HttpResponse:
        return HttpResponse(content_type=JSON_MEDIA_TYPE)  # as all answers here; pages get other headers


def _headers_of_middleware(scheme: str) -> Headers:
    """Return the headers that middleware adds to every answer."""
    address = urlsplit(settings.PUBLIC_URL)
    headers = [(b"host", address.netloc.encode()), (b"x-forwarded-proto", scheme.encode())]
    scope = {"method": "POST", "raw_path": PATH.encode(), "query_string": b"", "http_version": "1.1"}
    answer = wsgi_bridge.call(
        _Empty(), {**scope, "scheme": scheme, "server": None, "client": None, "headers": headers}, b""
    )
    return [(name, value) for name, value in answer.headers if name not in OF_EACH_ANSWER]
