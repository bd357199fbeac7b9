"""Logging in at the issuer, and confirming there before a sensitive change that it is still the same person."""

import logging
from urllib.parse import urlencode

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.internal.flows.reauthentication import resume_request
from allauth.account.models import Login
from allauth.account.stages import LoginStageController
from allauth.decorators import rate_limit
from allauth.mfa.stages import AuthenticateStage
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.access import person
from dashboard.accounts.arrivals import NotLetIn, refuse_arrival
from dashboard.accounts.oidc import flow
from dashboard.accounts.oidc.issuer import IssuerDown
from dashboard.accounts.oidc.people import find_person
from dashboard.accounts.oidc.step_up import has_identity
from dashboard.accounts.oidc.tokens import TokenRefused, is_fresh_login
from keys.issuer_sessions import OIDC

RETRY_AFTER = 10  # seconds
logger = logging.getLogger(__name__)


class LoginFailed(Exception):
    """`str()` of it says to the person why, and what to do."""


@never_cache
@require_safe
def log_in(request: HttpRequest) -> HttpResponse:
    """Lead to the issuer, and from there back to `next`."""
    there = _next(request)
    if request.user.is_authenticated:
        return redirect(there or settings.LOGIN_REDIRECT_URL)
    return _lead_to_issuer(request, flow.begin(there=there))


@never_cache
@require_safe
@login_required
def confirm(request: HttpRequest) -> HttpResponse:
    """Lead to the issuer, which asks for the login again; the session and the change that waits for it stay."""
    user = str(person(request).pk)
    return _lead_to_issuer(request, flow.begin(there=_next(request), user=user))


@never_cache
@require_safe
@rate_limit(action="login")
def callback(request: HttpRequest) -> HttpResponse:
    """Take the issuer's answer."""
    try:
        response = _answered(request)
    except NotLetIn as refusal:
        response = refuse_arrival(request, refusal)
    except LoginFailed as failure:
        response = _failed(request, str(failure))
    except TokenRefused as error:
        logger.warning("a login by OIDC was refused: %s", error)
        response = _failed(request, _distrusted())
    except IssuerDown as error:
        response = _down(request, error)
    flow.forget(response)
    return response


def _answered(request: HttpRequest) -> HttpResponse:
    pending = flow.take(request)
    if pending is None:
        raise LoginFailed(gettext("This login began in another browser or too long ago, or was used. Log in again."))
    code = request.GET.get("code", "")
    if not code or "error" in request.GET:
        text = gettext("%(name)s did not log you in. Try again, or ask the people who run it.")
        raise LoginFailed(text % {"name": settings.OIDC_NAME})
    if pending.user:
        return _confirmed(request, flow.redeem(code, pending), pending)
    if request.user.is_authenticated:  # in another tab, meanwhile
        return redirect(pending.there or settings.LOGIN_REDIRECT_URL)
    return _logged_in(request, flow.redeem(code, pending), pending)


def _logged_in(request: HttpRequest, answer: flow.Answer, pending: flow.Pending) -> HttpResponse:
    user = find_person(answer)
    record_authentication(request, user, method=OIDC, issuer=settings.OIDC_ISSUER)
    login = Login(user=user, email_verification="none", redirect_url=pending.there or None)
    if settings.OIDC_IS_SECOND_STEP:
        LoginStageController(request, login).set_handled(AuthenticateStage.key)
    response: HttpResponse = perform_login(request, login)
    return response


def _confirmed(request: HttpRequest, answer: flow.Answer, pending: flow.Pending) -> HttpResponse:
    """Note that the person is who they were, and go on with the change that waited."""
    user = request.user
    if str(user.pk) != pending.user or not has_identity(person(request), answer.claims["sub"]):
        text = gettext("You logged in as somebody else at %(name)s, so nothing was changed. Log in there as %(email)s.")
        raise LoginFailed(text % {"name": settings.OIDC_NAME, "email": getattr(user, "email", "")})
    if not is_fresh_login(answer.claims):
        text = gettext(
            "%(name)s did not ask for your login again, or does not say when it did, so nothing was changed. Ask the "
            "people who run it to send auth_time."
        )
        raise LoginFailed(text % {"name": settings.OIDC_NAME})
    record_authentication(request, user, method=OIDC, issuer=settings.OIDC_ISSUER, reauthenticated=True)
    request.GET = QueryDict(urlencode({"next": pending.there}))  # allauth reads there where to go on
    response: HttpResponse | None = resume_request(request)
    return response or redirect(settings.LOGIN_REDIRECT_URL)


def _lead_to_issuer(request: HttpRequest, pending: flow.Pending) -> HttpResponse:
    try:
        response = HttpResponseRedirect(flow.address_of(pending))
    except IssuerDown as error:
        return _down(request, error)
    flow.remember(response, pending)
    return response


def _failed(request: HttpRequest, message: str) -> HttpResponse:
    return render(request, "account/oidc_failed.html", {"message": message}, status=403)


def _down(request: HttpRequest, error: IssuerDown) -> HttpResponse:
    logger.warning("the OIDC issuer does not answer: %s", error)
    response = render(request, "account/oidc_down.html", status=503)
    response.headers["Retry-After"] = str(RETRY_AFTER)
    response._has_been_logged = True  # type: ignore[attr-defined]  # it is no error of ours, and reported as none
    return response


def _distrusted() -> str:
    text = gettext(
        "The answer of %(name)s cannot be trusted, so you are not logged in. Try again. If this page comes back, "
        "tell the operator of this service: the log says why."
    )
    return text % {"name": settings.OIDC_NAME}


def _next(request: HttpRequest) -> str:
    there = request.GET.get("next", "")[:2000]
    return there if url_has_allowed_host_and_scheme(there, allowed_hosts=None) else ""
