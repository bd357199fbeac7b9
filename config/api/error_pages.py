"""Django's own refusals: the envelope for programs, a page for people (CONTRACT section 1)."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.csrf import csrf_failure as djangos_csrf_failure

from config.api import errors

PAGES = ("/dashboard", "/account", "/admin")  # where people are; everything else is for programs and other pages


def _is_page(request: HttpRequest) -> bool:
    return request.path.startswith(PAGES)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """`handler400`: a request that Django itself refuses, such as an unknown Host, whose pages are not ours to show."""
    return errors.bad_request()


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """`handler403`."""
    if _is_page(request):
        return render(request, "errors/403.html", status=403)
    return errors.error_response(errors.Forbidden())


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """`handler404`. Of what belongs to another organization nothing more is said."""
    return render(request, "errors/404.html", status=404) if _is_page(request) else errors.not_found()


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """`handler429`: what allauth answers over its limits; the longest of those that end here is a minute."""
    response = render(request, "429.html", status=429)
    response.headers["Retry-After"] = "60"
    return response


def internal_error(request: HttpRequest) -> HttpResponse:
    """`handler500`; Django has logged the traceback. The page asks the database nothing: it may be what failed."""
    if _is_page(request):
        return render(None, "errors/500.html", {"request_id": errors.current_request_id()}, status=500)
    return errors.internal_error()


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """`CSRF_FAILURE_VIEW`: mostly a page that stood open while somebody logged in again in another tab."""
    if _is_page(request):
        return render(request, "errors/csrf.html", status=403)
    return djangos_csrf_failure(request, reason)
