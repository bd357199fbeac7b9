"""
Login by a proxy in front, which has logged a person in and sends their address as REMOTE_USER_HEADER.

Only what a proxy sends over its own connection counts: the peer of the socket is looked at, never `X-Forwarded-For`.
Django's RemoteUserMiddleware believes every peer, and knows no second steps, so the login here is allauth's.
"""

from collections.abc import Callable
from ipaddress import ip_address, ip_network

from allauth.account.internal.flows.login import get_authentication_records, perform_login, record_authentication
from allauth.account.models import Login
from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from config.pages.addresses import PAGES
from dashboard.accounts.arrivals import NotLetIn, let_in, refuse_arrival
from dashboard.installation import has_people

METHOD = "remote_user"  # of allauth's record of how a session began
# Pages for people who are not let in: they may have a password or an invitation, which the header must not hide.
OPEN_TO_STRANGERS = ("/account/", "/dashboard/invitations/")
SECOND_STEP = "/account/2fa/"


def began_with(request: HttpRequest) -> str:
    """Return the address with which the header began this session, "" for every other one."""
    records = get_authentication_records(request, request.user)
    return next((str(each["email"]) for each in records if each["method"] == METHOD), "")


class RemoteUserMiddleware:
    """Begins and ends sessions by the header, and refuses it from other peers (docs/contract.md 2.60)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        # Without the setting nothing is sent, which ends the sessions that it began before.
        self._key = "HTTP_" + settings.REMOTE_USER_HEADER.upper().replace("-", "_")
        self._proxies = [ip_network(each) for each in settings.TRUSTED_PROXIES]

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if f"/{request.path_info.split('/')[1]}" not in PAGES:
            return self.get_response(request)
        said = request.META.get(self._key)
        # WSGI joins a header that came twice with a comma, which no address of ours has.
        if said is not None and ("," in said or not self._is_trusted(request.META.get("REMOTE_ADDR", ""))):
            context = {"header": settings.REMOTE_USER_HEADER}
            return render(request, "errors/remote_user.html", context, status=400)
        email = (said or "").strip().lower()
        if began_with(request) not in ("", email):
            logout(request)
        return (_begin(request, email) if email and _may_begin(request) else None) or self.get_response(request)

    def _is_trusted(self, peer: str) -> bool:
        try:
            address = ip_address(peer)
        except ValueError:  # a Unix socket has none
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._proxies)


def _may_begin(request: HttpRequest) -> bool:
    """Return whether the answer may be a login: a form that was sent, or a part of a page, first leads to the login."""
    is_page = request.method == "GET" and "HX-Request" not in request.headers
    is_asked = request.path_info.startswith(SECOND_STEP)  # by the login that the header has begun
    return is_page and not is_asked and not request.user.is_authenticated and has_people()


def _begin(request: HttpRequest, email: str) -> HttpResponse | None:
    """Log in and lead back to this page, by way of the second step; None for strangers on a page that is theirs."""
    try:
        user = let_in(email, is_verified=True)
    except NotLetIn as refusal:
        return None if request.path_info.startswith(OPEN_TO_STRANGERS) else refuse_arrival(request, refusal)
    record_authentication(request, user, method=METHOD, email=email)
    login = Login(user=user, email_verification="none", redirect_url=request.get_full_path())
    response: HttpResponse = perform_login(request, login)
    return response
