"""Conditional requests: an ETag from an answer's bytes, so that it changes with whatever a client sees."""

import hashlib

from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_etags

from config.api.errors import PreconditionFailed

CHANGED = "It has changed: If-Match does not name its present ETag. Read it again, then repeat your change."
MISSING = "There is nothing here yet, so If-Match cannot hold. Leave the header out to create it."
EXISTS = "It exists already: If-None-Match names it. Read it, then send If-Match with its ETag."


def etag_of(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def is_known(request: HttpRequest, etag: str) -> bool:
    """Return whether If-None-Match names the ETag, compared as weak ones (RFC 9110, 13.1.2)."""
    return _names(request.META.get("HTTP_IF_NONE_MATCH", ""), etag)


def _names(header: str, etag: str | None) -> bool:
    """Return whether a header names an object's ETag, or with `*` any; `etag`: None for an object that is not there."""
    named = parse_etags(header)
    return etag is not None and ("*" in named or etag in (tag.removeprefix("W/") for tag in named))


def refuse_unmet(request: HttpRequest, etag: str | None) -> None:
    """
    Raise PreconditionFailed unless `If-Match` names the object, and `If-None-Match` does not (RFC 9110, 13.1).

    `etag`: None for an object that does not exist. A weak ETag counts like its strong one: gzip makes them weak.
    """
    wanted, unwanted = (request.META.get(name) for name in ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"))
    if wanted is not None and not _names(wanted, etag):
        raise PreconditionFailed(CHANGED if etag else MISSING)
    if unwanted is not None and _names(unwanted, etag):
        raise PreconditionFailed(EXISTS)


def answer_if_changed(request: HttpRequest, response: HttpResponse) -> None:
    """Add the ETag of a 200, and make it a 304 without content if the client has it. Call it before compressing."""
    etag = response.headers.get("ETag") or etag_of(response.content)  # the view may have set another one
    response.headers["ETag"] = etag
    if is_known(request, etag):
        response.status_code = 304
        response.content = b""
        for name in ("Content-Type", "Content-Length"):
            response.headers.pop(name, None)
