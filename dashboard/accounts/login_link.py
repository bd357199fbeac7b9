"""A link that logs one person in once: by the operator's command, for when no other way works."""

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from django.conf import settings
from django.core import signing
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from keys.models import User

SALT = "fieldpost.login-link"
LASTS = 600  # seconds


def login_link(user: User) -> str:
    """Return the address of the page with the button."""
    return f"{settings.PUBLIC_URL}/account/link/{signing.dumps([str(user.pk), _state(user)], salt=SALT)}"


def _state(user: User) -> str:
    """Return what another login, a new password and closed sessions change: links of before end with them."""
    last = user.last_login.isoformat() if user.last_login else ""
    return f"{last} {user.get_session_auth_hash()[-16:]}"


def _find(token: str) -> User | None:
    try:
        pk, state = signing.loads(token, salt=SALT, max_age=LASTS)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=pk, is_active=True).first()
    return user if user and _state(user) == state else None


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def use_login_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show the button, so that a program that opens links of mails logs nobody in; log in by it."""
    user = _find(token)
    if user is not None and request.method == "POST" and not cache.add(f"login-link {token}", True, LASTS):
        user = None
    if user is None:
        response = render(request, "account/login_link_gone.html", status=404)
    elif request.method == "POST":
        record_authentication(request, user, method="login_link")
        response = perform_login(request, Login(user=user, email_verification="none"))
    else:
        response = render(request, "account/login_link.html", {"email": user.email})
    response.headers["Referrer-Policy"] = "strict-origin"  # the address is the secret
    return response


urlpatterns = [path("link/<str:token>", use_login_link, name="login-link")]
