"""The pages that ask for a password elsewhere, for accounts that the issuer logs in."""

from allauth.account import views
from allauth.account.adapter import get_adapter
from allauth.account.utils import passthrough_next_redirect_url
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from dashboard.access import person
from dashboard.accounts.oidc.step_up import has_identity, has_password


def log_in_page(request: HttpRequest) -> HttpResponseBase:
    """Show the button. A posted password is not looked at."""
    if request.method == "POST":
        return redirect("account_login")
    response: HttpResponseBase = views.login(request)
    return response


@never_cache
@login_required
@sensitive_post_parameters("password")
def reauthenticate(request: HttpRequest) -> HttpResponseBase:
    """Ask for the password, or lead an account without one to the issuer, else to its own first way."""
    user = person(request)
    if has_password(user):
        response: HttpResponseBase = views.reauthenticate(request)
        return response
    others = [each for each in get_adapter().get_reauthentication_methods(user) if each["url"] != request.path]
    for each in others:
        each["url"] = passthrough_next_redirect_url(request, each["url"], "next")
    if not has_identity(user):
        return redirect(others[0]["url"])
    context = {"there": request.GET.get("next", ""), "reauthentication_alternatives": others}
    return render(request, "account/reauthenticate_oidc.html", context)
