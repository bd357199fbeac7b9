"""
One login at the issuer: the code flow with PKCE, state and nonce (OpenID Connect Core 1.0, 3.1; RFC 7636).

What our side remembers of it is in a signed cookie for ten minutes, good for one answer: no stranger makes rows.
"""

import base64
import hashlib
import secrets
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlencode

from django.conf import settings
from django.core import signing
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from dashboard.accounts.oidc.issuer import Endpoints, ask, asking, find_endpoints
from dashboard.accounts.oidc.tokens import TokenRefused, read_token
from webhooks.transport.deadline import Deadline

COOKIE = "__Host-oidc" if settings.IS_HTTPS else "fieldpost_oidc"
SALT = "fieldpost.oidc"
LASTS = 600  # seconds for a person to log in at the issuer
SCOPE = "openid email profile"


class Pending(NamedTuple):
    """A login that has begun: where it leads, and the user who confirms a change with it, "" for a stranger."""

    state: str
    nonce: str
    verifier: str
    there: str
    user: str


class Answer(NamedTuple):
    """The issuer's words about a person: the claims of the ID token, and those of the userinfo, if there is one."""

    claims: dict[str, Any]
    userinfo: dict[str, Any]


def begin(*, there: str, user: str = "") -> Pending:
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    return Pending(state, nonce, verifier, there, user)


def address_of(pending: Pending) -> str:
    """Return where the browser goes. Nothing of its request goes along. Raises IssuerDown."""
    with asking() as deadline:
        endpoint = find_endpoints(deadline).authorization
    digest = hashlib.sha256(pending.verifier.encode()).digest()
    values = {
        "response_type": "code",
        "client_id": settings.OIDC_CLIENT_ID,
        "redirect_uri": _callback(),
        "scope": SCOPE,
        "state": pending.state,
        "nonce": pending.nonce,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    if pending.user:
        values |= {"prompt": "login", "max_age": "0"}
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(values)}"


def remember(response: HttpResponse, pending: Pending) -> None:
    response.set_cookie(
        COOKIE,
        signing.dumps(pending, salt=SALT),
        max_age=LASTS,
        secure=settings.IS_HTTPS,
        httponly=True,
        samesite="Lax",  # the answer comes from another site
    )


def forget(response: HttpResponse) -> None:
    response.delete_cookie(COOKIE, samesite="Lax")


def take(request: HttpRequest) -> Pending | None:
    """Return the login that this answer belongs to, once; None for an answer to no login of this browser."""
    try:
        pending = Pending(*signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=LASTS))
    except (signing.BadSignature, TypeError):
        return None
    if not constant_time_compare(request.GET.get("state", ""), pending.state):
        return None
    used = f"oidc-used:{hashlib.sha256(pending.state.encode()).hexdigest()}"
    return pending if cache.add(used, 1, timeout=LASTS) else None


def redeem(code: str, pending: Pending) -> Answer:
    """Exchange the code for what the issuer says of the person. Raises TokenRefused and IssuerDown."""
    with asking() as deadline:
        endpoints = find_endpoints(deadline)
        tokens = _tokens(code, pending, endpoints, deadline)
        claims = read_token(tokens.get("id_token"), endpoints, deadline, nonce=pending.nonce)
        return Answer(claims, _userinfo(tokens, claims, endpoints, deadline))


def _callback() -> str:
    return f"{settings.PUBLIC_URL}{reverse('oidc-callback')}"


def _tokens(code: str, pending: Pending, endpoints: Endpoints, deadline: Deadline) -> dict[str, Any]:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": _callback(),
        "code_verifier": pending.verifier,
    }
    client, secret = settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET
    headers = {}
    if endpoints.takes_secret_in_body:
        form |= {"client_id": client, "client_secret": secret}
    else:  # RFC 6749, 2.3.1: each encoded first
        pair = f"{quote_plus(client)}:{quote_plus(secret)}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    status, tokens = ask(endpoints.token, deadline, form=form, headers=headers)
    if status != 200:
        raise TokenRefused(f"the issuer refused the code or OIDC_CLIENT_SECRET ({status})")
    return tokens


def _userinfo(
    tokens: dict[str, Any], claims: dict[str, Any], endpoints: Endpoints, deadline: Deadline
) -> dict[str, Any]:
    """Return what the userinfo says, if the issuer has one. Raises TokenRefused if it is about somebody else."""
    token = tokens.get("access_token")
    if not endpoints.userinfo:
        return {}
    if not isinstance(token, str) or not (token.isascii() and token.isprintable()):
        raise TokenRefused("there is no access token")
    status, found = ask(endpoints.userinfo, deadline, headers={"Authorization": f"Bearer {token}"})
    if status != 200:
        raise TokenRefused(f"the issuer refused its own access token ({status})")
    if found.get("sub") != claims["sub"]:
        raise TokenRefused("the userinfo is about another person than the ID token")
    return found
