"""
Requests of a page that is still open after its session has ended: the login comes first, and typed text is kept.

A form that is sent then is kept in the session of the stranger, for an hour at most. After the login its page shows
the typed text; nothing is saved before the user saves it.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase, QueryDict
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from config.api.ratelimit import count_burst
from config.base.client_address import client_network
from dashboard.accounts.session_store import ANONYMOUS

KEPT = "typed_before_login"  # session key; holds `{path, body, at}`
MAX_KEPT = 128 * 1024  # characters of a body, which strangers can send too
MAX_AN_HOUR = "20/h"  # bodies of one address
SHOW = "show"  # the value of `do` with which a page shows typed values and saves nothing
SECRETS = ("csrf", "password", "secret")
P = ParamSpec("P")
R = TypeVar("R", bound=HttpRequest)
View = Callable[Concatenate[R, P], HttpResponseBase]


def after_login(view: View[R, P]) -> View[R, P]:
    """Require a login. A fragment of a page cannot show one: the whole page leads there, and back to its address."""

    @wraps(view)
    def guarded(request: R, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return view(request, *args, **kwargs) if request.user.is_authenticated else _lead_to_login(request)

    return guarded


def keeps_typed(view: View[R, P]) -> View[R, P]:
    """Keep a form that is sent after its session has ended, and show it again after the login, not saved."""

    @wraps(view)
    def keeping(request: R, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method == "POST" and not request.user.is_authenticated:
            return _lead_to_login(request, kept=_keep(request))
        if request.method == "GET" and request.user.is_authenticated and (typed := _take(request)) is not None:
            request.method, request.POST = "POST", typed  # type: ignore[assignment]  # as allauth resumes a request
            response = view(request, *args, **kwargs)
            response.status_code = 200  # a mistake in the form was not sent now
            return response
        return view(request, *args, **kwargs)

    return keeping


def only_shows(request: HttpRequest) -> bool:
    """Return whether a form is shown as it was typed, without being saved."""
    return request.POST.get("do") == SHOW


def _lead_to_login(request: HttpRequest, *, kept: bool = False) -> HttpResponseBase:
    """Redirect to the login, and from there to the page that was open. `kept`: its form is shown again there."""
    htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]  # set by HtmxMiddleware
    if request.method in ("GET", "HEAD") and not htmx:
        return redirect_to_login(request.get_full_path())
    here = request.path if kept else _page_of(request, htmx)
    answer = redirect_to_login(here, f"{reverse('account_login')}?ended={'kept' if kept else 'yes'}")
    return HttpResponseClientRedirect(answer.headers["Location"]) if htmx else answer


def _page_of(request: HttpRequest, htmx: HtmxDetails) -> str:
    """Return the address of the page that sent a fragment's request or a form."""
    page = htmx.current_url or request.META.get("HTTP_REFERER", "")
    is_ours = url_has_allowed_host_and_scheme(page, allowed_hosts={request.get_host()})
    return urlsplit(page)._replace(scheme="", netloc="").geturl() if is_ours else reverse("dashboard:home")


def _keep(request: HttpRequest) -> bool:
    typed = request.POST.copy()
    for name in [name for name in typed if any(word in name for word in SECRETS)]:
        del typed[name]
    body = typed.urlencode()
    if len(body) > MAX_KEPT or count_burst(request, "kept", client_network(request), MAX_AN_HOUR).is_over:
        return False
    request.session[KEPT] = {"path": request.path, "body": body, "at": time.time()}
    return True


def _take(request: HttpRequest) -> QueryDict | None:
    """Return the values typed on this page before the login, once."""
    kept = request.session.get(KEPT)
    if not kept or kept["path"] != request.path:
        return None
    del request.session[KEPT]
    if time.time() - kept["at"] > ANONYMOUS.total_seconds():
        return None
    typed = QueryDict(kept["body"], mutable=True)
    typed["do"] = SHOW
    messages.warning(request, gettext("This is what you typed before you logged in. It is not saved yet."))
    return typed
