"""The page of an invitation's link."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache

from config.api.errors import ApiError
from dashboard.opened_invitation import forget_invitation, remember_invitation
from keys.invitations import accept_invitation, find_invitation
from keys.models import User


@never_cache
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show the inviter and the organization; join, or log in or sign up first."""
    found = find_invitation(token)
    if found is None:
        return _without_referrer(render(request, "dashboard/invitation_gone.html", status=404))
    user: User | None = request.user if request.user.is_authenticated else None
    if request.method == "POST" and user is not None:
        try:
            accept_invitation(found, user)
        except ApiError as error:
            messages.error(request, error.message)
            return _without_referrer(redirect("dashboard:invitation", token))
        forget_invitation(request)
        messages.success(request, f"Welcome to {found.organization.name}.")
        return redirect("dashboard:overview", found.organization.slug)
    if user is None:
        remember_invitation(request, token)  # sign-up then joins and asks for no organization
    known = User.objects.filter(email=found.email).exists()
    context = {"invitation": found, "is_theirs": user is not None and user.email == found.email, "is_known": known}
    return _without_referrer(render(request, "dashboard/invitation.html", context))


def _without_referrer(response: HttpResponse) -> HttpResponse:
    """
    Keep the page's address, which is the secret, out of the Referer header of its links.

    Not `no-referrer`: browsers would then send `Origin: null` to this site too, which the CSRF check refuses.
    """
    response.headers["Referrer-Policy"] = "strict-origin"
    return response


urlpatterns = [path("<str:token>", invitation, name="invitation")]
