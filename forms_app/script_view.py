"""Serves `/forms.js` and its further files, at stable URLs and at URLs with a hash (docs/contract.md 6)."""

import functools
import gzip
import hashlib
import json
import re

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.http import parse_etags
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from forms_app.script_builds import BUILDS, CURRENT

SHORT = "public, max-age=300, stale-while-revalidate=86400"  # pages get a new version within five minutes
_ZERO = re.compile(r"q=0(\.0*)?")
FOR_EVER = "public, max-age=31536000, immutable"


@functools.cache
def current_builds() -> dict[str, dict[str, str]]:
    """Return `{file, integrity}` by stable name."""
    known: dict[str, dict[str, str]] = json.loads(CURRENT.read_text())
    return known


@functools.cache
def _content(file_name: str) -> tuple[bytes, str]:
    """Return a build and its ETag. Raises FileNotFoundError."""
    text = (BUILDS / file_name).read_bytes()
    return text, f'"{hashlib.sha256(text).hexdigest()[:32]}"'


@functools.cache
def _compressed(file_name: str) -> bytes:
    return gzip.compress(_content(file_name)[0], 9, mtime=0)


def _takes_gzip(request: HttpRequest) -> bool:
    """Return whether Accept-Encoding names gzip, and not with `q=0` (RFC 9110, 12.5.3)."""
    for part in request.META.get("HTTP_ACCEPT_ENCODING", "").lower().split(","):
        coding, _, weight = part.replace(" ", "").partition(";")
        if coding in ("gzip", "*"):
            return not _ZERO.fullmatch(weight)
    return False


@csrf_exempt  # so that a POST gets 405, not a CSRF error
@require_safe
def serve_script(request: HttpRequest, name: str) -> HttpResponse:
    """Return a script, or 304 if the client has it. Open to every origin (`config.api.middleware`)."""
    stable = current_builds().get(name)
    try:
        file_name = stable["file"] if stable else name
        text, etag = _content(file_name)
    except FileNotFoundError:
        raise Http404 from None
    known = parse_etags(request.META.get("HTTP_IF_NONE_MATCH", ""))
    is_known = "*" in known or etag in (tag.removeprefix("W/") for tag in known)
    compressed = not is_known and _takes_gzip(request)
    response = HttpResponse(status=304) if is_known else HttpResponse(_compressed(file_name) if compressed else text)
    if compressed:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Content-Type"] = "text/javascript; charset=utf-8"
    response.headers["Cache-Control"] = SHORT if stable else FOR_EVER
    response.headers["ETag"] = f"W/{etag}" if compressed else etag  # the same script, not the same bytes
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response
