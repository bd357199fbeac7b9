"""The limits of an account a minute (docs/contract.md 2.46)."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from config.api.ratelimit import refuse_bursts
from dashboard.frame.limits.costs import is_expensive, typed_kind
from dashboard.frame.limits.page import too_many
from dashboard.installation import has_people

PEOPLE = ("/dashboard/", "/account/")
POSTS, EXPENSIVE = "120/m", "20/m"


class AccountLimits:
    """Refuses what an account sends over its limits. A failing limiter refuses nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], _args: object, _kwargs: object
    ) -> HttpResponse | None:
        """Return the 429 of the limit that this request exceeds, or the way to the page for the first person."""
        if not request.path_info.startswith(PEOPLE):
            return None
        if not request.user.is_authenticated:
            return None if has_people() else redirect("setup")
        if typed_kind(request, view):
            return None
        limits = [("dashboard-posts", POSTS)] if request.method == "POST" else []
        limits += [("dashboard-expensive", EXPENSIVE)] if is_expensive(request, view) else []
        account = str(request.user.pk)
        refusal = refuse_bursts(request, [(group, account, rate) for group, rate in limits])
        return too_many(request, refusal) if refusal else None
