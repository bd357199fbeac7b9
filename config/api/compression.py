"""
gzip for answers that are long and hold no secret (docs/adr/0061).

Django's own middleware compresses; it is called for chosen answers instead of all. It pads each by a random length, so
that a length says little about texts that a stranger can add to (https://breachattack.com/).
"""

import re

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers

_ZERO = re.compile(r"q=0(\.0*)?")
_gzip = GZipMiddleware(lambda _request: HttpResponse())


def takes_gzip(request: HttpRequest) -> bool:
    """Return whether Accept-Encoding takes gzip: named, or else by `*`, and not with `q=0` (RFC 9110, 12.5.3)."""
    takes = {}
    for part in request.META.get("HTTP_ACCEPT_ENCODING", "").lower().split(","):
        coding, _, weight = part.replace(" ", "").partition(";")
        takes[coding] = not _ZERO.fullmatch(weight)
    return takes.get("gzip", takes.get("*", False))


def compress(request: HttpRequest, response: HttpResponseBase) -> None:
    """Compress a response for a client that takes it, unless it is short; a stream part by part."""
    if takes_gzip(request):
        _gzip.process_response(request, response)
    patch_vary_headers(response, ["Accept-Encoding"])
