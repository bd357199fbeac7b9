"""Documents that are the same for everybody, such as the schema: conditional requests, and gzip."""

import functools
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from config.api.compression import compress
from config.api.etags import answer_if_changed

View = Callable[..., HttpResponse]


def public_document(view: View) -> View:
    """Decorate a view: an ETag, 304 for a client that has the document, and gzip for one that takes it."""

    @functools.wraps(view)
    def serve(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        if hasattr(response, "render"):
            response = response.render()
        if response.status_code == 200:
            answer_if_changed(request, response)
            compress(request, response)
        return response

    return csrf_exempt(serve)  # it reads no cookie, so a POST gets the view's 405
