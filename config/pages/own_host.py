"""
Separate hosts for content of strangers, so that it does not share the dashboard's origin. All are names of one service.

Hosted pages (PAGES_URL): on their host nothing answers but what pages need; on the other one `/f/` redirects there.
Posts to either address are taken: forms on other sites keep the address that they were copied with.

Files (FILES_ORIGIN): that host answers nothing but addresses of files, which `submissions.transfers.downloads` signs.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from config.api.error_pages import nothing_here
from config.pages.addresses import ON_BOTH_HOSTS, ON_THE_PAGES_HOST, PLAIN_POSTS, name_of


def answer_of_host(request: HttpRequest) -> HttpResponse | None:
    """Return the 404 of a host without this address, or the redirect to the host of pages; None for all others."""
    host, name, is_read = request.get_host().lower(), name_of(request), request.method in ("GET", "HEAD")
    if host == urlsplit(settings.FILES_ORIGIN).netloc.lower():
        return None if is_read and name == "file" else nothing_here(request)
    if host == urlsplit(settings.PAGES_URL).netloc.lower():
        is_answered = name.startswith(PLAIN_POSTS) or name in ON_THE_PAGES_HOST
        return None if is_answered or request.path_info.startswith(settings.STATIC_URL) else nothing_here(request)
    if settings.PAGES_URL and is_read and name.startswith("hosted-") and name not in ON_BOTH_HOSTS:
        # Temporary: the setting may change.
        return HttpResponseRedirect(settings.PAGES_URL + request.get_full_path())
    return None
