"""The page that an invitation's link leads to."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache

from config.api.errors import ApiError
from dashboard.allauth_adapters import INVITATION
from keys.invitations import accept_invitation, find_invitation
from keys.models import User


@never_cache
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Say who invites whom to what; join, or log in or sign up first."""
    found = find_invitation(token)
    if found is None:
        return _quietly(render(request, "dashboard/invitation_gone.html", status=404))
    user: User | None = request.user if request.user.is_authenticated else None
    if request.method == "POST" and user is not None:
        try:
            accept_invitation(found, user)
        except ApiError as error:
            messages.error(request, error.message)
            return _quietly(redirect("dashboard:invitation", token))
        request.session.pop(INVITATION, None)
        messages.success(request, f"Welcome to {found.organization.name}.")
        return redirect("dashboard:overview", found.organization.slug)
    if user is None:
        request.session[INVITATION] = token  # signing up now joins, and asks for no organization
    known = User.objects.filter(email=found.email).exists()
    context = {"invitation": found, "is_theirs": user is not None and user.email == found.email, "is_known": known}
    return _quietly(render(request, "dashboard/invitation.html", context))


def _quietly(response: HttpResponse) -> HttpResponse:
    """
    Let no link on the page tell where it was clicked: the address is the secret.

    Not `no-referrer`: with it browsers send `Origin: null` even to ourselves, which the CSRF check refuses.
    """
    response.headers["Referrer-Policy"] = "strict-origin"
    return response


urlpatterns = [path("<str:token>", invitation, name="invitation")]
