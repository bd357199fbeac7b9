"""
Separate hosts for content of strangers, so that it does not share the dashboard's origin. All are names of one service.

Hosted pages (PAGES_URL): on their host nothing answers but what pages need; on the other one `/f/` redirects there.
Posts to either address are taken: forms on other sites keep the address that they were copied with.

Files (FILES_ORIGIN): that host answers nothing but addresses of files, which `submissions.transfers.downloads` signs.
"""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from config.api.error_pages import nothing_here
from config.api.middleware import BRAND, CHALLENGE, OTHER_ADDRESSES

# forms.js submits to the host that it came from, with a publishable key; no cookie is read there.
_ANSWERED = re.compile(rf"/f/.*|/forms(\.[^/]+)?\.js|/api/submit|/\.well-known/security\.txt|{OTHER_ADDRESSES}")
_FILE = re.compile(r"/files/upl_[0-9a-z]+")
GetResponse = Callable[[HttpRequest], HttpResponse]


class FilesHostMiddleware:
    """Keeps everything but files off the host of FILES_ORIGIN."""

    def __init__(self, get_response: GetResponse) -> None:
        if not settings.FILES_ORIGIN:
            raise MiddlewareNotUsed
        self.get_response = get_response
        self._host = urlsplit(settings.FILES_ORIGIN).netloc.lower()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_file = _FILE.fullmatch(request.path_info) and request.method in ("GET", "HEAD")
        if request.get_host().lower() == self._host and not is_file:
            return nothing_here(request)
        return self.get_response(request)


class PagesHostMiddleware:
    """Keeps hosted pages and everything else on separate hosts."""

    def __init__(self, get_response: GetResponse) -> None:
        if not settings.PAGES_URL:
            raise MiddlewareNotUsed
        self.get_response = get_response
        self._host = urlsplit(settings.PAGES_URL).netloc.lower()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        if request.get_host().lower() == self._host:
            is_answered = _ANSWERED.fullmatch(path) or path.startswith(settings.STATIC_URL)
            return self.get_response(request) if is_answered else nothing_here(request)
        is_page = path.startswith("/f/") and path != CHALLENGE and request.method in ("GET", "HEAD")
        is_page = is_page and not path.startswith(BRAND)  # pictures: the dashboard shows them too
        # Temporary: the setting may change.
        return (
            HttpResponseRedirect(settings.PAGES_URL + request.get_full_path())
            if is_page
            else self.get_response(request)
        )
