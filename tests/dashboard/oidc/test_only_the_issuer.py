"""OIDC_ONLY, OIDC_IS_SECOND_STEP and OIDC_SESSION_HOURS: how far an operator lets the issuer decide."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session

from config.base.times import now
from dashboard.accounts.login_link import login_link
from keys.invitations import invite
from keys.models import Identity, Membership, Organization, Role, User
from tests.dashboard.oidc.sign_on import BUTTON, is_in, sign_on, some_person
from tests.services.application import Application
from tests.services.client import Client
from tests.services.environment import FILE_NAME, service_environment
from tests.services.openid.issuer import Issuer
from tests.support.accounts import SIGN_UP, log_in, new_email, with_authenticator_app
from tests.support.browser import LOGIN, PASSWORD, Browser, logged_in, markup_of, person_of, place, text_of
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.on_sqlite
Shared = Callable[..., Application]


@pytest.fixture
def only(shared_service: Shared, issuer: Issuer, joined: Tenant) -> Iterator[Browser]:
    """Yield a browser at a service where nothing but the issuer logs in."""
    service = shared_service(SIGN_UP="open", **issuer.settings(ONLY="1", ORGANIZATION=joined.organization.slug))
    with Client(service.port) as client:
        yield Browser(client)


@pytest.fixture
def believing(shared_service: Shared, issuer: Issuer, joined: Tenant) -> Iterator[Browser]:
    """Yield a browser at a service that takes the issuer's word for a second step, and asks it again after an hour."""
    more = {"IS_SECOND_STEP": "1", "SESSION_HOURS": "1", "ORGANIZATION": joined.organization.slug}
    service = shared_service(**issuer.settings(**more))
    with Client(service.port) as client:
        yield Browser(client)


def test_only__login_page__has_the_button_and_nothing_to_enter(only: Browser) -> None:
    page = only.get(LOGIN)
    assert "Log in with Single sign-on" in text_of(page)
    assert "<input" not in page.text
    assert "passkey" not in page.text.lower()
    assert SIGN_UP not in page.text


def test_only__right_password__logs_nobody_in(only: Browser) -> None:
    person, token = person_of(make_tenant()), "a" * 32  # no page that strangers see has a form with a token
    only.cookies[settings.CSRF_COOKIE_NAME] = token
    body = urlencode({"login": person.email, "password": PASSWORD, "csrfmiddlewaretoken": token})
    headers = {**only.headers(), "Content-Type": "application/x-www-form-urlencoded"}
    answer = only.api.post(LOGIN, data=body, headers=headers)
    assert (answer.status, answer.headers["Location"]) == (302, LOGIN)
    assert "session" not in str(answer.headers.getlist("Set-Cookie"))


@pytest.mark.parametrize(
    "page",
    [
        SIGN_UP,
        "/account/password/change/",
        "/account/password/set/",
        "/account/password/reset/",
        "/account/password/reset/confirm/",
        "/account/password/reset/complete/",
        "/account/password/reset/done/",
        "/account/2fa/webauthn/login/",
        "/account/2fa/webauthn/add/",
    ],
)
def test_only__pages_of_passwords_and_passkeys__are_not_there(only: Browser, page: str) -> None:
    inside = logged_in(only.api, person_of(make_tenant()))
    assert [browser.get(page).status for browser in (only, inside)] == [404, 404]
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    posted = only.api.post(page, data=f"email={new_email()}&password1={PASSWORD}&organization=A", headers=form)
    assert posted.status in (403, 404)


def test_only__confirming__takes_no_password(only: Browser) -> None:
    person = person_of(make_tenant())
    inside = logged_in(only.api, person, seconds_ago=660)
    page = inside.get("/account/reauthenticate/?next=/dashboard/account/delete")
    mailed = page.headers["Location"]
    assert mailed == "/account/reauthenticate/mail/?next=%2Fdashboard%2Faccount%2Fdelete"
    assert 'type="password"' not in inside.get(mailed).text
    inside.post("/account/reauthenticate/", form=mailed, password=PASSWORD)
    assert inside.get("/dashboard/account/delete").status == 302


def test_only__known_and_new_people__get_in_by_the_issuer(only: Browser, issuer: Issuer) -> None:
    known = person_of(make_tenant())
    assert sign_on(only, issuer, some_person(email=known.email)).status == 302
    page = text_of(only.get("/dashboard/account"))
    assert known.email in page
    assert "Password" not in page.partition("Recent activity")[0]
    only.cookies.clear()
    assert sign_on(only, issuer, some_person()).status == 302


def test_only__invitation__leads_to_the_issuer_and_makes_no_password(
    only: Browser, issuer: Issuer, joined: Tenant
) -> None:
    email = new_email()
    _, token = invite(organization=joined.organization, email=email, role=Role.ADMIN, by=None)
    page = only.get(f"/dashboard/invitations/{token}")
    assert (page.status, "<input" in page.text, LOGIN in page.text) == (200, False, True)
    assert sign_on(only, issuer, some_person(email=email)).status == 302
    user = User.objects.get(email=email)
    assert Membership.objects.get(user=user).role == "admin"
    assert not user.has_usable_password()


def test_only__login_link_of_the_operator__still_works(only: Browser) -> None:
    person = person_of(make_tenant())
    path = "/account/link/" + login_link(person).partition("/account/link/")[2]
    assert only.send(path).status == 302
    assert is_in(only)


def test_only__first_person__needs_no_password_and_comes_back_by_the_issuer(tmp_path: Path, issuer: Issuer) -> None:
    more = {"SIGN_UP": "invited", **issuer.settings(ONLY="1")}
    environment = service_environment(data_dir=tmp_path, extra=more)
    with (
        Application(environment, tmp_path / "logs", streams=False, delivers=False, has_people=False) as service,
        Client(service.port) as client,
    ):
        token = service.manage("setup_link").partition("token=")[2].strip()
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        body = f"token={token}&organization=Acme&name=Ada&email=ada@example.com"
        assert 'type="password"' not in client.post("/setup", data=f"token={token}", headers=form).text
        assert client.post("/setup", data=body, headers=form).status == 302
        browser = Browser(client)
        assert sign_on(browser, issuer, some_person(email="ada@example.com")).status == 302
        assert "ada@example.com" in browser.get("/dashboard/account").text
        with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
            assert database.execute("SELECT password FROM keys_user").fetchall()[0][0].startswith("!")


def test_second_step__of_the_issuer__opens_organizations_and_the_admin(believing: Browser, issuer: Issuer) -> None:
    person = some_person()
    sign_on(believing, issuer, person)
    user = User.objects.get(email=person["email"])
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    strict = make_tenant().organization
    Membership.objects.create(organization=strict, user=user, role="admin")
    Organization.objects.filter(pk=strict.pk).update(second_step_required=True)
    assert believing.get(f"/dashboard/o/{strict.slug}/").status == 200
    assert believing.get("/admin/").status == 200
    with_password = person_of(make_tenant())
    Identity.objects.create(user=with_password, issuer=issuer.settings()["OIDC_ISSUER"], subject="another")
    Membership.objects.create(organization=strict, user=with_password, role="member")
    listed = [_member(believing, strict.slug, each) for each in (user, with_password)]
    assert ["No second step" in each for each in listed] == [False, True], "a password logs in without one"
    by_password = logged_in(believing.api, user)
    assert by_password.get(f"/dashboard/o/{strict.slug}/").headers["Location"] == "/account/2fa/"
    assert by_password.get("/admin/").headers["Location"] == "/account/2fa/"


def _member(browser: Browser, slug: str, user: User) -> str:
    """Return the text of a person's row in the list of members."""
    listed = markup_of(browser.get(f"/dashboard/o/{slug}/members"))
    (row,) = [each for each in listed.split("<li>") if f"<strong>{user.email}</strong>" in each]
    return text_of(row)


def test_second_step__of_the_issuer__is_not_believed_by_default(browser: Browser, issuer: Issuer) -> None:
    person = some_person()
    sign_on(browser, issuer, person)
    user, strict = User.objects.get(email=person["email"]), make_tenant()
    Membership.objects.create(organization=strict.organization, user=user, role="member")
    assert "No second step" in _member(logged_in(browser.api, strict.owner), strict.organization.slug, user)
    Organization.objects.filter(pk=strict.organization.pk).update(second_step_required=True)
    assert browser.get(place(strict)).headers["Location"] == "/account/2fa/"


def test_second_step__of_the_issuer__replaces_an_app_but_not_after_a_password(
    believing: Browser, issuer: Issuer
) -> None:
    known = person_of(make_tenant())
    with_authenticator_app(known)
    assert sign_on(believing, issuer, some_person(email=known.email)).headers["Location"] == "/dashboard/"
    assert is_in(believing)
    believing.cookies.clear()
    assert log_in(believing, known).headers["Location"] == "/account/2fa/authenticate/"


def _hours_left(browser: Browser) -> float:
    row = Session.objects.get(session_key=browser.cookies[settings.SESSION_COOKIE_NAME])
    return (row.expire_date - now()).total_seconds() / 3600


def test_session__of_the_issuer__ends_after_its_hours_and_of_a_password_later(
    believing: Browser, browser: Browser, issuer: Issuer
) -> None:
    sign_on(believing, issuer, some_person())
    believing.get(place(make_tenant()))
    assert 0.9 < _hours_left(believing) <= 1
    sign_on(browser, issuer, some_person())
    assert 23.9 < _hours_left(browser) <= 24
    believing.cookies.clear()
    log_in(believing, person_of(make_tenant()))
    assert _hours_left(believing) > 24 * 29


def test_session__of_the_issuer__whose_hours_are_over__leads_to_the_login(believing: Browser, issuer: Issuer) -> None:
    sign_on(believing, issuer, some_person())
    row = Session.objects.filter(session_key=believing.cookies[settings.SESSION_COOKIE_NAME])
    row.update(expire_date=now())
    answer = believing.get("/dashboard/account")
    assert answer.headers["Location"].startswith(LOGIN)
    assert BUTTON in believing.follow(answer).text
