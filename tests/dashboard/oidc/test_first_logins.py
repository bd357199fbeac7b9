"""The first login of a person by single sign-on: whose account it opens, and when it makes one."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.models import EmailAddress

from keys.invitations import invite
from keys.models import AuditEvent, Identity, Membership, Role, User
from tests.dashboard.oidc.sign_on import BUTTON, CALLBACK, is_in, sign_on, some_person, verified
from tests.services.application import Application
from tests.services.client import Client
from tests.services.openid.issuer import ABSENT, CLIENT, Issuer
from tests.support.accounts import code_of, new_email, with_authenticator_app
from tests.support.browser import LOGIN, Browser, person_of, text_of
from tests.support.tenants import Tenant, make_tenant


def roles_of(person: dict[str, Any]) -> list[tuple[str, str]]:
    rows = Membership.objects.filter(user__email=person["email"].lower())
    return list(rows.values_list("organization__slug", "role"))


def test_button__leads_to_the_issuer_with_pkce_state_and_nonce_and_nothing_of_ours(
    browser: Browser, issuer: Issuer, signing_on: Application
) -> None:
    assert "Log in with Acme &amp; Co" in browser.get(LOGIN).text
    started = browser.get(f"{BUTTON}?next=/dashboard/account&prompt=none&login_hint=eve&client_id=other&scope=all")
    address = urlsplit(started.headers["Location"])
    asked = parse_qs(address.query)
    assert address.geturl().startswith(issuer.url("/authorize?tenant=acme&"))
    assert all(len(asked.pop(name)[0]) >= 43 for name in ("state", "nonce", "code_challenge"))
    assert asked == {
        "tenant": ["acme"],
        "response_type": ["code"],
        "client_id": [CLIENT],
        "redirect_uri": [f"{signing_on.base_url}{CALLBACK}"],
        "scope": ["openid email profile"],
        "code_challenge_method": ["S256"],
    }
    assert "no-store" in started.headers["Cache-Control"]


def test_new_person__joins_the_organization_with_the_default_role_where_they_wanted_to_go(
    browser: Browser, issuer: Issuer, joined: Tenant
) -> None:
    person = some_person(email=f"New.{new_email()}")
    done = sign_on(browser, issuer, person, there="/dashboard/account")
    assert (done.status, done.headers["Location"]) == (302, "/dashboard/account")
    assert is_in(browser)
    user = User.objects.get(email=person["email"].lower())
    assert (user.name, user.has_usable_password()) == ("Ada", False)
    assert EmailAddress.objects.get(user=user).verified
    assert roles_of(person) == [(joined.organization.slug, "member")]
    assert Identity.objects.get(user=user).subject == person["sub"]
    page = text_of(browser.get("/dashboard/account"))
    assert "Acme & Co Linked" in page
    assert f"Linked the login at {issuer.name}" in page


def test_login__is_in_the_trail_with_its_issuer(browser: Browser, issuer: Issuer) -> None:
    person = some_person()
    sign_on(browser, issuer, person)
    (event,) = AuditEvent.objects.filter(user__email=person["email"], action="account.logged_in")
    assert (event.changes or {})["issuer"] == [None, issuer.name]


@pytest.mark.parametrize("next_", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
@pytest.mark.on_sqlite
def test_next__of_another_site__is_not_followed(browser: Browser, issuer: Issuer, next_: str) -> None:
    assert sign_on(browser, issuer, some_person(), there=next_).headers["Location"] == "/dashboard/"


@pytest.mark.parametrize("role", ["owner", "admin", "member"])
def test_role_claim__with_a_role__gives_it(browser: Browser, issuer: Issuer, joined: Tenant, role: str) -> None:
    person = some_person(fieldpost_role=role)
    sign_on(browser, issuer, person)
    assert roles_of(person) == [(joined.organization.slug, role)]
    assert not AuditEvent.objects.filter(user__email=person["email"], action="member.role_unknown").exists()


@pytest.mark.parametrize(
    "role", ["Owner", "root", "", 7, True, ["owner"], {"owner": True}, [f"group-{n}" for n in range(10_000)]]
)
def test_role_claim__with_anything_else__gives_the_default_and_a_line_in_the_trail(
    browser: Browser, issuer: Issuer, joined: Tenant, role: Any
) -> None:
    person = some_person(fieldpost_role=role)
    sign_on(browser, issuer, person)
    assert roles_of(person) == [(joined.organization.slug, "member")]
    (event,) = AuditEvent.objects.filter(user__email=person["email"], action="member.role_unknown")
    assert len(json.dumps([event.subject, event.changes])) < 700


def test_role_claim__of_the_userinfo__counts_and_later_ones_do_not(
    browser: Browser, issuer: Issuer, joined: Tenant
) -> None:
    person = some_person()
    issuer.wishes.userinfo = {"fieldpost_role": "admin"}
    sign_on(browser, issuer, person)
    browser.cookies.clear()
    sign_on(browser, issuer, {**person, "fieldpost_role": "owner"})
    assert roles_of(person) == [(joined.organization.slug, "admin")]


def test_address__verified_there_and_here__links_the_account_whatever_its_case(
    browser: Browser, issuer: Issuer
) -> None:
    known = person_of(make_tenant())
    sign_on(browser, issuer, some_person(email=known.email.upper()))
    assert known.email in browser.get("/dashboard/account").text
    assert Identity.objects.filter(user=known).count() == 1
    assert AuditEvent.objects.filter(user=known, action="account.identity_linked", subject=issuer.name).count() == 1


@pytest.mark.parametrize("said", [False, ABSENT, None, "true", "false", 1, [True]])
@pytest.mark.parametrize("is_known", [True, False])
def test_address__not_verified_there__opens_and_makes_nothing(
    browser: Browser, issuer: Issuer, said: Any, is_known: bool
) -> None:
    email = person_of(make_tenant()).email if is_known else new_email()
    done = sign_on(browser, issuer, some_person(email=email, email_verified=said))
    assert (done.status, f"Your address {email} is not confirmed" in text_of(done)) == (403, True)
    assert not is_in(browser)
    assert not Identity.objects.filter(user__email=email).exists()
    assert User.objects.filter(email=email).exists() is is_known


def test_address__not_verified_here__opens_nothing(browser: Browser, issuer: Issuer) -> None:
    known = verified(make_tenant().owner, False)
    done = sign_on(browser, issuer, some_person(email=known.email))
    assert (done.status, "nobody has confirmed here" in text_of(done)) == (403, True)
    assert not is_in(browser)


@pytest.mark.parametrize("email", [ABSENT, "", "no address", "a@b", 7, ["a@example.com"], f"{'a' * 300}@example.com"])
@pytest.mark.on_sqlite
def test_address__that_is_none__is_refused_with_a_page(browser: Browser, issuer: Issuer, email: Any) -> None:
    done = sign_on(browser, issuer, some_person(email=email))
    assert (done.status, "without a usable email address" in text_of(done)) == (403, True)


def test_address__of_the_userinfo__counts_with_its_own_mark(browser: Browser, issuer: Issuer) -> None:
    """The mark of one address must not verify another one."""
    victim, mine = person_of(make_tenant()), new_email()
    issuer.wishes.userinfo = {"email": mine, "email_verified": True}
    done = sign_on(browser, issuer, some_person(email=victim.email, email_verified=ABSENT))
    assert done.status == 302
    assert User.objects.get(identities__subject=issuer.wishes.claims["sub"]).email == mine
    issuer.wishes.userinfo = {"email": mine, "email_verified": True}
    browser.cookies.clear()
    refused = sign_on(browser, issuer, some_person(email=victim.email, email_verified=False))
    assert refused.status == 403


def test_second_sub__with_the_address_of_another__is_refused(browser: Browser, issuer: Issuer) -> None:
    person = some_person()
    sign_on(browser, issuer, person)
    browser.cookies.clear()
    done = sign_on(browser, issuer, {**person, "sub": "somebody who got the address later"})
    assert (done.status, "belongs to another login at Acme & Co" in text_of(done)) == (403, True)
    assert not is_in(browser)
    assert Identity.objects.filter(user__email=person["email"]).count() == 1


def test_later_login__is_known_by_sub_whatever_its_address_has_become(browser: Browser, issuer: Issuer) -> None:
    person, other = some_person(), person_of(make_tenant())
    sign_on(browser, issuer, person)
    browser.cookies.clear()
    done = sign_on(browser, issuer, {**person, "email": other.email, "email_verified": False})
    assert done.status == 302
    assert person["email"] in browser.get("/dashboard/account").text


def test_invited_person__keeps_the_role_of_the_invitation(browser: Browser, issuer: Issuer, joined: Tenant) -> None:
    person = some_person(fieldpost_role="owner", email=f"INVITED-{new_email()}")
    invite(organization=joined.organization, email=person["email"].lower(), role=Role.ADMIN, by=joined.owner)
    assert sign_on(browser, issuer, person).status == 302
    assert roles_of(person) == [(joined.organization.slug, "admin")]


def test_first_logins__two_at_the_same_time__make_one_account(
    signing_on: Application, issuer: Issuer, joined: Tenant
) -> None:
    person = some_person()
    issuer.wishes.claims |= person
    with Client(signing_on.port) as one, Client(signing_on.port) as two:
        browsers = [Browser(one), Browser(two)]
        backs = [issuer.log_in(each.get(BUTTON).headers["Location"]) for each in browsers]
        with ThreadPoolExecutor(2) as threads:
            done = list(threads.map(lambda each: each[0].get(each[1]).status, zip(browsers, backs, strict=True)))
    assert done == [302, 302]
    assert roles_of(person) == [(joined.organization.slug, "member")]
    assert Identity.objects.filter(user__email=person["email"]).count() == 1


def test_second_step__of_the_account__is_asked(browser: Browser, issuer: Issuer) -> None:
    known = person_of(make_tenant())
    secret = with_authenticator_app(known)
    done = sign_on(browser, issuer, some_person(email=known.email))
    assert done.headers["Location"] == "/account/2fa/authenticate/"
    assert not is_in(browser)
    browser.send("/account/2fa/authenticate/", code=code_of(secret))
    assert is_in(browser)


def test_closed_account__stays_outside(browser: Browser, issuer: Issuer) -> None:
    person = some_person()
    sign_on(browser, issuer, person)
    User.objects.filter(email=person["email"]).update(is_active=False)
    browser.cookies.clear()
    assert "closed" in text_of(browser.follow(sign_on(browser, issuer, person)))
    assert not is_in(browser)
