"""Logging in and setting a password by mail, each only so often from one address."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.contrib.auth.forms import PasswordResetForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from config.api.client_address import client_network
from config.api.ratelimit import count_burst
from keys.models import User

TRIES = "10/m"  # of one address, over both pages; nobody can lock another person out


def only_so_often(view: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse the eleventh POST of an address within a minute, with a page that says when to come back."""

    @wraps(view)
    def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST":
            usage = count_burst(request, "people", client_network(request), TRIES)
            if usage.is_over:
                refusal = render(request, "dashboard/slow_down.html", status=429)
                refusal.headers["Retry-After"] = usage.refusal().headers["Retry-After"]
                return refusal
        response: HttpResponse = view(request, *args, **kwargs)
        return response

    return limited


class ResetForm(PasswordResetForm):
    """Django's form, also for people who have no password yet: `create_organization` makes owners without one."""

    def get_users(self, email: str) -> Iterable[User]:
        """Return the active user of an address."""
        return User.objects.filter(email=email.lower(), is_active=True)
