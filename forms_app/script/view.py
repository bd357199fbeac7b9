"""Serves `/forms.js` and its further files, at stable URLs and at URLs with a hash (docs/contract.md 6)."""

import functools
import gzip
import json

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from config.api.compression import takes_gzip
from config.api.etags import etag_of, is_known
from forms_app.script.builds import BUILDS, CURRENT

SHORT = "public, max-age=300, stale-while-revalidate=86400"  # pages get a new version within five minutes
FOR_EVER = "public, max-age=31536000, immutable"


@functools.cache
def current_builds() -> dict[str, dict[str, str]]:
    """Return `{file, integrity}` by stable name."""
    known: dict[str, dict[str, str]] = json.loads(CURRENT.read_text())
    return known


@functools.cache
def _content(file_name: str) -> tuple[bytes, bytes, str]:
    """Return a build, the same compressed, and its ETag. Raises FileNotFoundError."""
    text = (BUILDS / file_name).read_bytes()
    return text, gzip.compress(text, 9, mtime=0), etag_of(text)


@csrf_exempt  # so that a POST gets 405, not a CSRF error
@require_safe
def serve_script(request: HttpRequest, name: str) -> HttpResponse:
    """Return a script, or 304 if the client has it. Open to every origin (`config.api.middleware`)."""
    stable = current_builds().get(name)
    try:
        file_name = stable["file"] if stable else name
        text, zipped, etag = _content(file_name)
    except FileNotFoundError:
        raise Http404 from None
    known = is_known(request, etag)
    compressed = not known and takes_gzip(request)
    response = HttpResponse(status=304) if known else HttpResponse(zipped if compressed else text)
    if compressed:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Content-Type"] = "text/javascript; charset=utf-8"
    response.headers["Cache-Control"] = SHORT if stable else FOR_EVER
    response.headers["ETag"] = f"W/{etag}" if compressed else etag  # the same script, not the same bytes
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response
