"""Invitations: the page of a mailed link, and the list of a user's own, which needs no link."""

from allauth.account.utils import complete_signup
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from config.api.errors import ApiError
from config.base.paging import whole_number
from dashboard.access import person
from dashboard.html_forms.account import JoinForm
from dashboard.opened_invitation import forget_invitation, remember_invitation
from keys.invitations import (
    accept_invitation,
    decline_invitation,
    find_invitation,
    invitations_to,
    join_as_new_person,
)
from keys.models import Invitation, User


@login_required
@never_cache
def invitations(request: HttpRequest) -> HttpResponse:
    """List the open invitations to the user's verified address; join or decline one of them."""
    user = person(request)
    if request.method != "POST":
        context = {"invitations": invitations_to(user), "has_organization": user.memberships.exists()}
        return render(request, "dashboard/invitations.html", context)
    found = invitations_to(user).filter(pk=whole_number(request.POST.get("invitation", ""))).first()
    if found is None:
        messages.warning(request, gettext("This invitation was taken back or has expired."))
        return redirect("dashboard:home")
    if request.POST.get("do") == "join":
        return _join(request, found, user, back="dashboard:home")
    if request.POST.get("do") != "decline":
        raise Http404
    decline_invitation(found, user)
    messages.success(request, gettext("You declined the invitation to %(name)s.") % {"name": found.organization.name})
    return redirect("dashboard:home")


def _join(request: HttpRequest, found: Invitation, user: User, *, back: str) -> HttpResponse:
    try:
        accept_invitation(found, user)
    except ApiError as error:
        messages.error(request, error.message)
        return redirect(back)
    forget_invitation(request)
    messages.success(request, gettext("Welcome to %(name)s.") % {"name": found.organization.name})
    return redirect("dashboard:overview", found.organization.slug)


@never_cache
@sensitive_post_parameters("password1")
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show the inviter and the organization. Join: directly, after a login, or with a new account on this page."""
    found = find_invitation(token)
    if found is None:
        return _without_referrer(render(request, "dashboard/invitation_gone.html", status=404))
    if isinstance(request.user, User):
        if request.method == "POST":
            return _without_referrer(_join(request, found, request.user, back=request.path))
        context = {"invitation": found, "is_theirs": request.user.email == found.email}
        return _without_referrer(render(request, "dashboard/invitation.html", context))
    remember_invitation(request, token)  # a login or sign-up leads back here
    if settings.OIDC_ONLY or User.objects.filter(email=found.email).exists():
        return _without_referrer(render(request, "dashboard/invitation.html", {"invitation": found, "is_known": True}))
    if not found.takes_new_people:
        return _without_referrer(render(request, "dashboard/invitation.html", {"invitation": found}))
    return _without_referrer(_join_as_new_person(request, found))


def _join_as_new_person(request: HttpRequest, found: Invitation) -> HttpResponse:
    """Ask for name and password; then the person has an account, is a member, and is logged in."""
    entered = JoinForm(request.POST or None, invitation=found)
    if request.method == "POST" and entered.is_valid():
        values = entered.cleaned_data
        try:
            user = join_as_new_person(found, name=values["name"], password=values["password1"])
        except ApiError as error:
            messages.error(request, error.message)
            return redirect(request.path)
        forget_invitation(request)
        messages.success(request, gettext("Welcome to %(name)s.") % {"name": found.organization.name})
        there = reverse("dashboard:overview", args=[found.organization.slug])
        response: HttpResponse = complete_signup(request, user, None, there)
        return response
    context = {"invitation": found, "form": entered}
    return render(request, "dashboard/invitation.html", context, status=400 if entered.errors else 200)


def _without_referrer(response: HttpResponse) -> HttpResponse:
    """
    Keep the page's address, which is the secret, out of the Referer header of its links.

    Not `no-referrer`: browsers would then send `Origin: null` to this site too, which the CSRF check refuses.
    """
    response.headers["Referrer-Policy"] = "strict-origin"
    return response


urlpatterns = [
    path("invitations", invitations, name="invitations"),
    path("invitations/<str:token>", invitation, name="invitation"),
]
