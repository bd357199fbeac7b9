"""Call a WSGI application (PEP 3333) for an ASGI request whose body has been read, or will not be."""

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes

from django.db import close_old_connections

from config.api.parsing import BODY_NOT_READ, drop_long_media_types
from config.web_server.spool import SpooledBody

MAX_KEPT = 64  # characters of the names of headers that are kept in memory
WHOLE_UP_TO = 4 * 1024 * 1024  # bytes of a streamed response that says its length: a static file, read in the thread
Headers = list[tuple[bytes, bytes]]
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclasses.dataclass(slots=True)
class Answer:
    """A response. `body` is None for a stream, whose parts then come from `parts`; `close` must be called after it."""

    status: int
    headers: Headers
    body: bytes | None
    parts: Iterator[bytes]
    close: Callable[[], object]


def call(application: Application, scope: Any, body: bytes | SpooledBody | None) -> Answer:
    """Run the application in this thread and return its response. `body`: None if it was not read."""
    started: list[Any] = []
    response = application(
        environ_of(scope, body), lambda status, headers, _error=None: started.append((status, headers))
    )
    status_line, pairs = started[0]
    status = int(status_line[:3])
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
    close = getattr(response, "close", _nothing)
    if getattr(response, "streaming", False) and not _is_short(headers):
        close_old_connections()  # this thread goes on to other requests while the stream runs
        return Answer(status, headers, None, iter(response), close)
    try:
        content = b"".join(response)
    finally:
        close()
    if status in (204, 304):  # no length, or that of the 200, which we do not have (RFC 9110, 8.6)
        headers = [(name, value) for name, value in headers if name != b"content-length"]
    elif not any(name == b"content-length" for name, _ in headers):
        headers.append((b"content-length", str(len(content)).encode()))
    return Answer(status, headers, content, iter(()), _nothing)


def _nothing() -> None:
    """Close a response that has nothing to close."""


def _is_short(headers: Headers) -> bool:
    length = next((value for name, value in headers if name == b"content-length"), b"")
    return length.isdigit() and int(length) <= WHOLE_UP_TO


def environ_of(scope: Any, body: bytes | SpooledBody | None) -> dict[str, Any]:
    """Return the WSGI environment. Header values and path are bytes written as Latin-1, as PEP 3333 says."""
    server, client = scope["server"] or ("", 0), scope["client"] or ("", 0)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": "HTTP/1.1" if scope["http_version"] == "1.1" else "HTTP/1.0",
        "REMOTE_ADDR": client[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": body.file if isinstance(body, SpooledBody) else BytesIO(body or b""),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        key = _variable(name)
        text = value.decode("latin-1")
        if key in environ:
            text = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{text}"
        environ[key] = text
    if environ.pop("HTTP_TRANSFER_ENCODING", None):
        environ["CONTENT_LENGTH"] = str(len(body or b""))  # the body is whole
    if body is None:
        environ[BODY_NOT_READ] = True
    drop_long_media_types(environ)
    return environ


_VARIABLES: dict[bytes, str] = {b"content-type": "CONTENT_TYPE", b"content-length": "CONTENT_LENGTH"}


def _variable(name: bytes) -> str:
    return _kept_variable(name) if len(name) <= MAX_KEPT else _made_variable(name)


def _made_variable(name: bytes) -> str:
    return _VARIABLES.get(name) or "HTTP_" + name.decode("latin-1").replace("-", "_").upper()


_kept_variable = lru_cache(maxsize=1000)(_made_variable)
