"""The invitation link that was opened in this browser, remembered until its reader has an account and is logged in."""

from django.http import HttpRequest
from django.urls import reverse

from keys.invitations import find_invitation
from keys.models import Invitation

SESSION_KEY = "invitation"  # holds the token of the link


def remember_invitation(request: HttpRequest, token: str) -> None:
    request.session[SESSION_KEY] = token


def forget_invitation(request: HttpRequest) -> None:
    request.session.pop(SESSION_KEY, None)


def opened_invitation(request: HttpRequest | None) -> Invitation | None:
    """Return the remembered invitation while it can be accepted, else None."""
    token = request.session.get(SESSION_KEY, "") if request is not None else ""
    return find_invitation(token) if token else None


def opened_invitation_page(request: HttpRequest | None) -> str:
    """Return the address of the remembered invitation, "" without one that can be accepted."""
    if request is None or opened_invitation(request) is None:
        return ""
    return reverse("dashboard:invitation", args=[request.session[SESSION_KEY]])
