"""Django's error handlers: the envelope for programs, a page for people (docs/contract.md 1)."""

import sys

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.shortcuts import render
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language, get_language_from_request, gettext, gettext_noop
from django.views.csrf import csrf_failure as djangos_csrf_failure

from config.api import errors
from config.base.database import is_away
from config.pages.addresses import PAGES

BUSY = gettext_noop("The service is busy. Wait a moment, then send it again.")  # for people
POLICY = (
    "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def _is_page(request: HttpRequest) -> bool:
    return request.path.startswith(PAGES)


def _is_browser(request: HttpRequest) -> bool:
    return "text/html" in request.META.get("HTTP_ACCEPT", "") and not request.path.startswith("/api/")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """
    `handler400`: a request that Django rejects, such as an unknown Host. Never a page then: the host may not be ours.

    A form that is too large gets a page: Django has checked its Host before.
    """
    if isinstance(exception, RequestDataTooBig) and _is_page(request):
        return render(None, "errors/413.html", status=413)
    message = "The request is malformed or its Host is unknown here."
    return errors.error_response(errors.invalid("host", "invalid", message, has_subject=True))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _is_page(request):
        return render(request, "errors/403.html", status=403)
    return errors.error_response(errors.Forbidden())


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """`handler404`, also for objects of other organizations."""
    if _is_page(request):
        return render(request, "errors/404.html", status=404)
    return nothing_here(request)


def nothing_here(request: HttpRequest) -> HttpResponse:
    """Return the 404 of an unknown address: to a browser a page, without links."""
    if not _is_browser(request):
        return errors.not_found()
    with translation.override(get_language_from_request(request)):
        response = render(None, "errors/nothing.html", status=404)
    patch_vary_headers(response, ["Accept-Language"])
    return response


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """`handler429`: a limit of allauth. The longest that ends here is a minute."""
    response = render(request, "429.html", status=429)
    response.headers["Retry-After"] = "60"
    return response


def internal_error(request: HttpRequest) -> HttpResponse:
    """
    `handler500`, for errors outside views too. The page uses no database, which may have failed.

    Django logs the traceback, except of an unavailable database: sessions and signed-in users are read by middleware.
    """
    if (error := sys.exception()) is not None and is_away(error):
        return unavailable(request, error)
    if _is_page(request):
        return render(None, "errors/500.html", {"request_id": errors.current_request_id()}, status=500)
    return errors.error_response(errors.InternalError())


def unavailable(request: HttpRequest, error: BaseException) -> HttpResponse:
    """Return the 503 of an unavailable or overloaded database. A page keeps the form that was sent, for another try."""
    failure = errors.as_api_error(error)
    if not (_is_page(request) or _is_browser(request)) or "application/json" in request.META.get("HTTP_ACCEPT", ""):
        return errors.error_response(failure)
    template, language = ("errors/503.html", get_language()) if _is_page(request) else ("errors/busy.html", None)
    with translation.override(language or get_language_from_request(request)):
        sent = _sent(request)
        typed = {name: values for name, values in sent if not name.startswith("_")}
        context = {"message": gettext(BUSY), "sent": sent, "typed": typed, "path": request.get_full_path()}
        response = render(None, template, context, status=failure.status)
    for name, value in failure.headers.items():
        response.headers[name] = value
    response.headers["Cache-Control"] = errors.NO_STORE
    response.headers["Content-Security-Policy"] = POLICY  # middleware that adds one may not have run
    return errors.logged_once(response, failure)


def _sent(request: HttpRequest) -> list[tuple[str, list[str]]]:
    """Return names and values of the form that was sent, if a page can send it again: without files."""
    if request.method != "POST" or request.content_type != "application/x-www-form-urlencoded":
        return []
    try:
        return list(request.POST.lists())
    except (UnreadablePostError, SuspiciousOperation):
        return []


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """`CSRF_FAILURE_VIEW`: mostly a page that was open during a new login in another tab."""
    if _is_page(request):
        return render(request, "errors/csrf.html", status=403)
    return djangos_csrf_failure(request, reason)
