"""Answers of an issuer, or of somebody who plays it, that must not log anybody in. Each differs in one thing."""

import base64
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from keys.models import User
from tests.dashboard.oidc.sign_on import BUTTON, CALLBACK, is_in, sign_on, some_person
from tests.services.application import Application
from tests.services.client import Client
from tests.services.openid.issuer import ABSENT, CLIENT, SECRET, Issuer, new_key
from tests.services.receivers import Reply
from tests.support.browser import Browser, text_of

pytestmark = pytest.mark.on_sqlite
DISTRUSTED = "The answer of Acme & Co cannot be trusted, so you are not logged in."
HOUR = 3600


def refuses(browser: Browser, issuer: Issuer, person: dict[str, Any], why: str = DISTRUSTED) -> bool:
    """Return whether a login is refused with a page that says why, and makes nothing."""
    done = sign_on(browser, issuer, person)
    assert (done.status, why in text_of(done)) == (403, True), text_of(done)
    return not is_in(browser) and not User.objects.filter(email=person["email"]).exists()


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"iss": "https://other.example"}, id="of another issuer"),
        pytest.param({"iss": ABSENT}, id="of no issuer"),
        pytest.param({"aud": "another-client"}, id="for another client"),
        pytest.param({"aud": ["another-client"]}, id="for a list without us"),
        pytest.param({"aud": ABSENT}, id="for nobody"),
        pytest.param({"aud": [CLIENT, "another-client"]}, id="for two without azp"),
        pytest.param({"aud": [CLIENT, "another-client"], "azp": "another-client"}, id="for two, got by the other"),
        pytest.param({"azp": "another-client"}, id="got by another client"),
        pytest.param({"exp": lambda: int(time.time()) - 2}, id="expired"),
        pytest.param({"exp": ABSENT}, id="without an end"),
        pytest.param({"exp": "never"}, id="with an end that is a text"),
        pytest.param({"exp": True}, id="with an end that is true"),
        pytest.param({"iat": lambda: int(time.time()) + HOUR}, id="issued in an hour"),
        pytest.param({"iat": ABSENT}, id="issued at no time"),
        pytest.param({"nbf": lambda: int(time.time()) + HOUR}, id="good in an hour"),
        pytest.param({"nonce": "of another login"}, id="of another login"),
        pytest.param({"nonce": ABSENT}, id="of no login"),
        pytest.param({"sub": ABSENT}, id="about nobody"),
        pytest.param({"sub": ""}, id="about an empty person"),
        pytest.param({"sub": 7}, id="about a number"),
        pytest.param({"sub": "a" * 256}, id="about a long person"),
        pytest.param({"sub": "a\0b"}, id="about an unprintable person"),
    ],
)
def test_id_token__with_one_wrong_claim__logs_nobody_in(
    browser: Browser, issuer: Issuer, claims: dict[str, Any]
) -> None:
    wrong = {name: value() if callable(value) else value for name, value in claims.items()}
    assert refuses(browser, issuer, some_person() | wrong)


def test_id_token__for_us_among_others_and_got_by_us__logs_in(browser: Browser, issuer: Issuer) -> None:
    sign_on(browser, issuer, some_person(aud=["another-client", CLIENT], azp=CLIENT))
    assert is_in(browser)


def test_id_token__signed_by_a_foreign_key_of_the_same_name__logs_nobody_in(browser: Browser, issuer: Issuer) -> None:
    issuer.wishes.key = new_key(str(issuer.key.kid))
    assert refuses(browser, issuer, some_person())


def test_id_token__with_its_key_inside__logs_nobody_in(browser: Browser, issuer: Issuer) -> None:
    foreign = new_key("mine")
    issuer.wishes.key, issuer.wishes.header = foreign, {"jwk": foreign.as_dict(private=False)}
    assert refuses(browser, issuer, some_person())


def _unsigned(issuer: Issuer, claims: dict[str, Any]) -> str:
    parts = ({"alg": "none", "kid": issuer.key.kid}, claims)
    return ".".join(base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=").decode() for each in parts) + "."


def _by_secret(issuer: Issuer, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "HS256", "kid": issuer.key.kid}, claims, OctKey.import_key(SECRET), algorithms=["HS256"])


def _by_public_key(issuer: Issuer, claims: dict[str, Any]) -> str:
    assert isinstance(issuer.key, RSAKey)
    key = OctKey.import_key(base64.b64encode(issuer.key.as_pem(private=False)).decode())
    return jwt.encode({"alg": "HS256", "kid": issuer.key.kid}, claims, key, algorithms=["HS256"])


def _changed(issuer: Issuer, claims: dict[str, Any]) -> str:
    head, body, signature = issuer.sign({**claims, "sub": "me"}).split(".")
    del body
    other = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"{head}.{other}.{signature}"


@pytest.mark.parametrize("forge", [_unsigned, _by_secret, _by_public_key, _changed])
def test_id_token__forged__logs_nobody_in(
    browser: Browser, issuer: Issuer, forge: Callable[[Issuer, dict[str, Any]], str]
) -> None:
    person, moment = some_person(), int(time.time())
    issuer.wishes.claims |= person  # so that the userinfo agrees, and only the signature can refuse
    started = browser.get(BUTTON).headers["Location"]
    back = issuer.log_in(started)
    nonce = started.partition("nonce=")[2].partition("&")[0]
    claims = {**person, "iss": issuer.name, "aud": CLIENT, "nonce": nonce, "iat": moment, "exp": moment + 300}
    issuer.wishes.token = forge(issuer, claims)
    done = browser.get(back)
    assert (done.status, DISTRUSTED in text_of(done)) == (403, True)
    assert not is_in(browser)
    issuer.wishes.token = None
    assert sign_on(browser, issuer, person).status == 302  # with the signature of the issuer


@pytest.mark.parametrize("token", ["", "no token", "a.b.c", "..", "e30.e30.", "\u00e9.\u00e9.\u00e9"])
def test_id_token__that_is_none__logs_nobody_in(browser: Browser, issuer: Issuer, token: str) -> None:
    issuer.wishes.token = token
    if not token:
        issuer.wishes.replies["/token"] = Reply(body=b'{"access_token": "a"}')
    assert refuses(browser, issuer, some_person())


def test_symmetric_key__that_the_issuer_publishes__signs_nothing(start_service: Any, issuer: Issuer) -> None:
    secret = OctKey.generate_key(256, {"kid": "shared"})
    keys = json.dumps({"keys": [secret.as_dict(private=True), issuer.key.as_dict(private=False)]}).encode()
    issuer.wishes.replies["/keys"] = Reply(body=keys)
    issuer.wishes.key, issuer.wishes.header = secret, {"alg": "HS256"}
    service = start_service(**issuer.settings(NAME="Acme & Co"))
    with Client(service.port) as client:
        assert refuses(Browser(client), issuer, some_person())


def test_userinfo__about_somebody_else__logs_nobody_in(browser: Browser, issuer: Issuer) -> None:
    issuer.wishes.userinfo = {"sub": "somebody else"}
    assert refuses(browser, issuer, some_person())


@pytest.mark.parametrize("sub", [ABSENT, None, ["somebody"]])
def test_userinfo__about_nobody__logs_nobody_in(browser: Browser, issuer: Issuer, sub: Any) -> None:
    issuer.wishes.userinfo = {"sub": sub}
    assert refuses(browser, issuer, some_person())


BEGUN_ELSEWHERE = "This login began in another browser or too long ago, or was used."


def refused_state(browser: Browser, path: str, issuer: Issuer) -> None:
    issuer.requests.clear()
    done = browser.get(path)
    assert (done.status, BEGUN_ELSEWHERE in text_of(done)) == (403, True)
    assert not issuer.asked("/token")


def test_state__replayed__logs_nobody_in(browser: Browser, issuer: Issuer) -> None:
    issuer.wishes.claims |= some_person()
    started = browser.get(BUTTON).headers["Location"]
    cookie, back = dict(browser.cookies), issuer.log_in(started)
    assert browser.get(back).status == 302
    browser.cookies = cookie  # as they were, also for the same answer with a fresh code
    refused_state(browser, back, issuer)
    browser.cookies = cookie
    refused_state(browser, issuer.log_in(started), issuer)


def test_state__of_another_browser__logs_nobody_in(browser: Browser, signing_on: Application, issuer: Issuer) -> None:
    """Somebody sends a victim the end of a login that they began."""
    issuer.wishes.claims |= some_person()
    mine = issuer.log_in(browser.get(BUTTON).headers["Location"])
    with Client(signing_on.port) as client:
        victim = Browser(client)
        refused_state(victim, mine, issuer)
        victim.get(BUTTON)
        refused_state(victim, mine, issuer)
        assert not is_in(victim)


@pytest.mark.parametrize(
    "query", ["", "?code=a", "?state=", "?code=a&state=", "?code=a&state=%C3%A9", "?error=x&state=y"]
)
def test_answer__without_a_login__is_refused(browser: Browser, issuer: Issuer, query: str) -> None:
    refused_state(browser, CALLBACK + query, issuer)
    browser.get(BUTTON)
    refused_state(browser, CALLBACK + query, issuer)


def test_answer__of_an_error__says_what_to_do_and_not_what_the_address_says(browser: Browser, issuer: Issuer) -> None:
    started = browser.get(BUTTON).headers["Location"]
    done = browser.get(issuer.log_in(started, error="access_denied", error_description="<b>Send+money"))
    assert (done.status, "Acme & Co did not log you in." in text_of(done)) == (403, True)
    assert "money" not in done.text
    assert not issuer.asked("/token")


def test_code__of_another_login__is_refused_by_its_verifier(browser: Browser, issuer: Issuer) -> None:
    issuer.wishes.claims |= some_person()
    stolen = issuer.log_in(browser.get(BUTTON).headers["Location"]).partition("code=")[2].partition("&")[0]
    mine = issuer.log_in(browser.get(BUTTON).headers["Location"], code=stolen)
    done = browser.get(mine)
    assert (done.status, DISTRUSTED in text_of(done)) == (403, True)
    assert len(issuer.asked("/token")) == 1


def test_callback__posted__is_not_there(browser: Browser, issuer: Issuer) -> None:
    back = issuer.log_in(browser.get(BUTTON).headers["Location"])
    path, _, query = back.partition("?")
    form = {"Content-Type": "application/x-www-form-urlencoded", **browser.headers()}
    assert browser.api.post(path, data=query, headers=form).status in (403, 405)
    assert not issuer.asked("/token")


def test_third_parties_of_allauth__are_not_there(browser: Browser) -> None:
    for path in ("/account/3rdparty/", "/account/3rdparty/login/cancelled/", "/account/social/connections/"):
        assert browser.get(path).status == 404
