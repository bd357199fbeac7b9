"""Documents that are the same for everybody, such as the schema: conditional requests, and gzip made beforehand."""

import functools
import gzip
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.csrf import csrf_exempt

from config.api.compression import takes_gzip
from config.api.etags import answer_if_changed

View = Callable[..., HttpResponse]
MAX_KEPT = 40  # compressed documents in a process: the schema, and each guide as a page and as Markdown


def public_document(view: View) -> View:
    """Decorate a view: an ETag, 304 for a client that has the document, and gzip for one that takes it."""

    @functools.wraps(view)
    def serve(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        if hasattr(response, "render"):
            response = response.render()
        if response.status_code == 200:
            answer_if_changed(request, response)
            patch_vary_headers(response, ["Accept-Encoding"])
            if response.status_code == 200 and takes_gzip(request):
                _pack(response)
        return response

    return csrf_exempt(serve)  # it reads no cookie, so a POST gets the view's 405


def _pack(response: HttpResponse) -> None:
    response.content = _packed(response.content)
    response.headers["Content-Encoding"] = "gzip"
    response.headers["ETag"] = f"W/{response.headers['ETag']}"  # the same document, not the same bytes


@functools.lru_cache(MAX_KEPT)
def _packed(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)
