"""The addresses of single sign-on, and those that OIDC_ONLY closes. They come before allauth's."""

from typing import NoReturn

from django.conf import settings
from django.http import Http404, HttpRequest
from django.urls import path

from dashboard.accounts.oidc.pages import log_in_page, reauthenticate
from dashboard.accounts.oidc.views import callback, confirm, log_in

PASSWORDS = (
    "signup/",
    "password/change/",
    "password/set/",
    "password/reset/",
    "password/reset/confirm/",
    "password/reset/complete/",
    "password/reset/done/",
    "2fa/webauthn/login/",
    "2fa/webauthn/add/",
)


def closed(_request: HttpRequest) -> NoReturn:
    raise Http404


urlpatterns = []
if settings.OIDC_ISSUER:
    urlpatterns += [
        path("oidc/login/", log_in, name="oidc-login"),
        path("oidc/confirm/", confirm, name="oidc-confirm"),
        path("oidc/callback/", callback, name="oidc-callback"),
        path("reauthenticate/", reauthenticate),
    ]
if settings.OIDC_ONLY:
    urlpatterns += [path("login/", log_in_page), *(path(each, closed) for each in PASSWORDS)]
