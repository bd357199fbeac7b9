"""Sensitive changes of people without a password: the issuer asks for the login again, and the session stays."""

import time
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from django.conf import settings

from keys.models import Invitation, User
from tests.dashboard.oidc.sign_on import sign_on, some_person
from tests.services.openid.issuer import ABSENT, Issuer
from tests.services.receivers import Reply
from tests.support.accounts import REAUTHENTICATE, new_email
from tests.support.browser import LOGIN, Browser, make_stale, person_of, place, text_of
from tests.support.tenants import Tenant, make_tenant

CONFIRM = "/account/oidc/confirm/"


@pytest.fixture
def person(browser: Browser, issuer: Issuer) -> dict[str, Any]:
    """Return an owner of the organization `joined` whose login is 11 minutes old."""
    one = some_person(fieldpost_role="owner")
    assert sign_on(browser, issuer, one).status == 302
    make_old(browser)
    return one


def make_old(browser: Browser) -> None:
    make_stale(browser.cookies[settings.SESSION_COOKIE_NAME])


def page_of(tenant: Tenant) -> str:
    return place(tenant, "members")


def invite(browser: Browser, tenant: Tenant) -> Any:
    return browser.send(page_of(tenant), email=new_email(), role="member")


def confirm(browser: Browser, issuer: Issuer, there: str, **claims: Any) -> Any:
    """Go to the issuer from the page that asks, and come back with these claims."""
    issuer.wishes.claims |= claims
    page = browser.get(f"{REAUTHENTICATE}?next={there}")
    assert f'href="{CONFIRM}?next={quote(there, safe="")}"' in page.text
    started = browser.get(f"{CONFIRM}?next={quote(there, safe='')}").headers["Location"]
    return browser.get(issuer.log_in(started))


def invited(tenant: Tenant) -> int:
    return Invitation.objects.filter(organization=tenant.organization).count()


def test_change__of_a_stale_session__waits_for_the_issuer_and_is_then_made(
    browser: Browser, issuer: Issuer, joined: Tenant, person: dict[str, Any]
) -> None:
    session, before = browser.cookies[settings.SESSION_COOKIE_NAME], invited(joined)
    asked = invite(browser, joined)
    assert (asked.status, asked.headers["Location"]) == (
        302,
        f"{REAUTHENTICATE}?next={quote(page_of(joined), safe='')}",
    )
    page = browser.follow(asked)
    assert "Confirm with Acme &amp; Co" in page.text
    assert 'type="password"' not in page.text
    started = browser.get(f"{CONFIRM}?next={quote(page_of(joined), safe='')}").headers["Location"]
    query = parse_qs(urlsplit(started).query)
    assert (query["prompt"], query["max_age"]) == (["login"], ["0"])
    issuer.wishes.claims |= person
    done = browser.get(issuer.log_in(started))
    assert (done.headers.get("Location"), invited(joined)) == (page_of(joined), before + 1)
    assert browser.cookies[settings.SESSION_COOKIE_NAME] == session


@pytest.mark.parametrize(
    "auth_time",
    [
        pytest.param(lambda: int(time.time()) - 62, id="62 seconds ago"),
        pytest.param(lambda: int(time.time()) - 86_400, id="yesterday"),
        pytest.param(lambda: int(time.time()) + 3600, id="in an hour"),
        pytest.param(lambda: ABSENT, id="not said"),
        pytest.param(lambda: None, id="null"),
        pytest.param(lambda: True, id="true"),
        pytest.param(lambda: str(int(time.time())), id="a text"),
    ],
)
def test_confirmation__of_a_login_of_then__changes_nothing(
    browser: Browser, issuer: Issuer, joined: Tenant, person: dict[str, Any], auth_time: Any
) -> None:
    before = invited(joined)
    invite(browser, joined)
    done = confirm(browser, issuer, page_of(joined), **person, auth_time=auth_time())
    assert (done.status, "did not ask for your login again" in text_of(done)) == (403, True)
    assert invite(browser, joined).headers["Location"].startswith(REAUTHENTICATE)
    assert invited(joined) == before


def test_confirmation__as_somebody_else__changes_nothing_and_keeps_the_session(
    browser: Browser, issuer: Issuer, joined: Tenant, person: dict[str, Any]
) -> None:
    before = invited(joined)
    invite(browser, joined)
    done = confirm(browser, issuer, page_of(joined), **some_person())
    assert (done.status, "You logged in as somebody else at Acme & Co" in text_of(done)) == (403, True)
    assert person["email"] in browser.get("/dashboard/account").text
    assert invite(browser, joined).headers["Location"].startswith(REAUTHENTICATE)
    assert invited(joined) == before


def test_confirmation__begun_by_another_user_of_the_browser__changes_nothing(browser: Browser, issuer: Issuer) -> None:
    sign_on(browser, issuer, some_person())
    started = browser.get(f"{CONFIRM}?next=/dashboard/account").headers["Location"]
    cookie = {name: value for name, value in browser.cookies.items() if "oidc" in name}
    browser.cookies.clear()
    other = some_person()
    sign_on(browser, issuer, other)
    make_old(browser)
    browser.cookies |= cookie
    issuer.wishes.claims |= other
    done = browser.get(issuer.log_in(started))
    assert done.status == 403
    assert browser.get("/account/2fa/webauthn/add/").headers["Location"].startswith(REAUTHENTICATE)


def test_second_steps__of_a_stale_session__ask_people_without_a_password_too(
    browser: Browser, issuer: Issuer, person: dict[str, Any]
) -> None:
    for page in ("/account/2fa/webauthn/add/", "/account/2fa/totp/activate/"):
        assert browser.get(page).headers["Location"].startswith(REAUTHENTICATE)
    done = confirm(browser, issuer, "/account/2fa/totp/activate/", **person)
    assert (done.status, done.headers["Location"]) == (302, "/account/2fa/totp/activate/")
    assert browser.get("/account/2fa/totp/activate/").status == 200


def test_confirmation__while_the_issuer_is_down__keeps_the_session(
    browser: Browser, issuer: Issuer, person: dict[str, Any]
) -> None:
    issuer.wishes.replies = {"/token": Reply(500)}
    done = confirm(browser, issuer, "/dashboard/account", **person)
    assert (done.status, "does not answer" in text_of(done)) == (503, True)
    assert person["email"] in browser.get("/dashboard/account").text


def test_confirmation__of_a_stranger__leads_to_the_login(browser: Browser, issuer: Issuer) -> None:
    assert browser.get(CONFIRM).headers["Location"].startswith(LOGIN)
    assert not issuer.requests


def test_account_with_a_password__is_asked_for_it_and_may_use_the_issuer(browser: Browser, issuer: Issuer) -> None:
    known = person_of(make_tenant())
    one = some_person(email=known.email)
    sign_on(browser, issuer, one)
    make_old(browser)
    page = browser.get(f"{REAUTHENTICATE}?next=/dashboard/account/delete")
    assert 'type="password"' in page.text
    assert "Use Acme &amp; Co" in page.text
    assert User.objects.get(pk=known.pk).has_usable_password()
    started = browser.get(f"{CONFIRM}?next=/dashboard/account/delete").headers["Location"]
    assert browser.get(issuer.log_in(started)).headers["Location"] == "/dashboard/account/delete"
    assert browser.get("/dashboard/account/delete").status == 200
