"""Logging in at the OpenID provider of tests, as a browser does that goes there and comes back."""

import secrets
from typing import Any
from urllib.parse import quote

from allauth.account.models import EmailAddress

from keys.models import User
from tests.services.client import Answer
from tests.services.openid.issuer import Issuer
from tests.support.accounts import new_email
from tests.support.browser import Browser

BUTTON = "/account/oidc/login/"
CALLBACK = "/account/oidc/callback/"


def some_person(**claims: Any) -> dict[str, Any]:
    """Return the claims of a person whom nobody has seen before."""
    return {"sub": secrets.token_hex(8), "email": new_email(), "email_verified": True, "name": "Ada", **claims}


def sign_on(browser: Browser, issuer: Issuer, person: dict[str, Any] | None = None, *, there: str = "") -> Answer:
    """Press the button, log in at the provider as this person, come back; return the answer to the way back."""
    if person is not None:
        issuer.wishes.claims |= person
    started = browser.get(f"{BUTTON}?next={quote(there, safe='')}" if there else BUTTON)
    assert started.status == 302, started.text
    return browser.get(issuer.log_in(started.headers["Location"]))


def is_in(browser: Browser) -> bool:
    answer = browser.get("/dashboard/account")
    assert answer.status in (200, 302)
    return answer.status == 200


def verified(user: User, is_verified: bool = True) -> User:
    EmailAddress.objects.update_or_create(
        user=user, email=user.email, defaults={"verified": is_verified, "primary": True}
    )
    return user
