"""
`/healthz`, answered in the event loop: it says that the process serves, whatever Django's threads wait for.

The answer is Django's, made once at the start, so its headers are those of every page. An unknown host, a body, and any
method but GET and HEAD are left to Django.
"""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from config.api.middleware import REQUEST_ID
from config.ids import request_id_for
from config.web_server import wsgi_bridge
from config.web_server.wsgi_bridge import Answer, Application

PATH = "/healthz"
ID_HEADER = REQUEST_ID.lower().encode()
BODY_HEADERS = (b"content-length", b"transfer-encoding")


class Health:
    """The answer to `/healthz`."""

    def __init__(self, application: Application) -> None:
        answer = wsgi_bridge.call(application, _scope(), b"")
        self._headers = [pair for pair in answer.headers if pair[0] != ID_HEADER]
        self._body = answer.body
        self._pages_host = split_domain_port(urlsplit(settings.PAGES_URL).netloc.lower())[0]

    def answer(self, scope: Any) -> Answer | None:
        """Return the answer, None if the request is Django's."""
        if scope["path"] != PATH or scope["method"] not in ("GET", "HEAD"):
            return None
        headers = dict(scope["headers"])
        if any(name in headers for name in BODY_HEADERS) or not self._knows(headers.get(b"host", b"")):
            return None
        given = request_id_for(headers.get(ID_HEADER, b"").decode("latin-1"))
        return Answer(200, [*self._headers, (ID_HEADER, given.encode())], self._body, iter(()), lambda: None)

    def _knows(self, host: bytes) -> bool:
        """Return whether this host answers here; hosted pages may have another one, with nothing but pages."""
        domain = split_domain_port(host.decode("latin-1").lower())[0]
        return bool(domain) and domain != self._pages_host and validate_host(domain, settings.ALLOWED_HOSTS)


def _scope() -> dict[str, Any]:
    """Return a request for PATH, as a proxy of PUBLIC_URL passes it on."""
    address = urlsplit(settings.PUBLIC_URL)
    headers = [(b"host", address.netloc.encode()), (b"x-forwarded-proto", address.scheme.encode())]
    scope = {"method": "GET", "raw_path": PATH.encode(), "query_string": b"", "http_version": "1.1", "scheme": "http"}
    return {**scope, "server": None, "client": None, "headers": headers}
