"""
Logging in with a passkey, without a session before it succeeds.

allauth keeps the challenge in a session, so each request of a stranger would be a row of the database. Here it is in a
signed cookie that lasts five minutes and can be used once.
"""

import hashlib
from typing import Any

from allauth.mfa.webauthn.internal.auth import STATE_SESSION_KEY
from allauth.mfa.webauthn.views import LoginWebAuthnView
from django.conf import settings
from django.core import signing
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.cache import never_cache

COOKIE = "__Host-passkey" if settings.IS_HTTPS else "fieldpost_passkey"
SALT = "fieldpost.passkey"
LASTS = 300  # seconds


class PasskeyLogin(LoginWebAuthnView):
    """Puts the challenge into a cookie, and back into the session while allauth verifies the answer."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().get(request, *args, **kwargs)
        state = request.session.pop(STATE_SESSION_KEY, None)
        if state is not None:
            request.session.modified = False
            response.set_cookie(
                COOKIE,
                signing.dumps(state, salt=SALT),
                max_age=LASTS,
                secure=settings.IS_HTTPS,
                httponly=True,
                samesite="Strict",
            )
        return response

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        state = _take_challenge(request)
        if state is not None:
            request.session[STATE_SESSION_KEY] = state
        response: HttpResponse = super().post(request, *args, **kwargs)
        if not request.user.is_authenticated:
            request.session.pop(STATE_SESSION_KEY, None)
        response.delete_cookie(COOKIE, samesite="Strict")
        return response


def _take_challenge(request: HttpRequest) -> Any:
    """Return the state of the cookie, once."""
    value = request.COOKIES.get(COOKIE, "")
    try:
        state = signing.loads(value, salt=SALT, max_age=LASTS)
    except signing.BadSignature:
        return None
    used = f"passkey-used:{hashlib.sha256(value.encode()).hexdigest()}"
    return state if cache.add(used, 1, timeout=LASTS) else None


urlpatterns = [path("2fa/webauthn/login/", never_cache(PasskeyLogin.as_view()), name="mfa_login_webauthn")]
