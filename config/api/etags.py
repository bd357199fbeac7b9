"""Conditional requests: an ETag from an answer's bytes, so that it changes with whatever a client sees."""

import hashlib

from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_etags


def etag_of(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def is_known(request: HttpRequest, etag: str) -> bool:
    """Return whether If-None-Match names the ETag, compared as weak ones (RFC 9110, 13.1.2)."""
    known = parse_etags(request.META.get("HTTP_IF_NONE_MATCH", ""))
    return "*" in known or etag in (tag.removeprefix("W/") for tag in known)


def answer_if_changed(request: HttpRequest, response: HttpResponse) -> None:
    """Add the ETag of a 200, and make it a 304 without content if the client has it. Call it before compressing."""
    etag = response.headers["ETag"] = etag_of(response.content)
    if is_known(request, etag):
        response.status_code = 304
        response.content = b""
        for name in ("Content-Type", "Content-Length"):
            response.headers.pop(name, None)
