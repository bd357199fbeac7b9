"""Addresses of pages with a slash too many or too few: a redirect to the page."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.urls import Resolver404, resolve
from django.utils.encoding import escape_uri_path
from django.views.decorators.csrf import csrf_exempt


@csrf_exempt  # a POST gets the 404 and is not asked for a token
def to_canonical(request: HttpRequest) -> HttpResponse:
    """Redirect to the same address with or without a slash at its end, if that is a page. Raises Http404."""
    bare = request.path_info.rstrip("/")
    for path in (bare, f"{bare}/"):
        if request.method in ("GET", "HEAD") and path != request.path_info and _is_page(path):
            query = request.META.get("QUERY_STRING", "")
            return HttpResponsePermanentRedirect(f"{escape_uri_path(path)}{'?' if query else ''}{query}")
    raise Http404


def _is_page(path: str) -> bool:
    try:
        return resolve(path).func is not to_canonical
    except Resolver404:
        return False
