"""Sessions: what ends them, the list of them, new devices, and what strangers leave in the table."""

import datetime as dt
import secrets
import time

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session

from config.base.times import now
from dashboard.accounts.session_list import purge_sessions
from dashboard.accounts.session_store import LOGGED_IN_AT
from keys.invitations import purge_invitations
from keys.models import AuditEvent, Invitation, Notice, User
from tests.services.client import Client
from tests.support.accounts import FORGOT, log_in, new_email
from tests.support.browser import Browser, logged_in, member_of, person_of, text_of
from tests.support.tenants import make_tenant

ACCOUNT, SESSIONS, PASSKEY = "/dashboard/account", "/account/sessions/", "/account/2fa/webauthn/login/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
DAY = 86_400


def key_of(browser: Browser) -> str:
    return browser.cookies[settings.SESSION_COOKIE_NAME]


def days_left(browser: Browser) -> float:
    return (Session.objects.get(session_key=key_of(browser)).expire_date - now()) / dt.timedelta(days=1)


def change(browser: Browser, **values: float) -> None:
    """Change what a browser's session holds."""
    store = SessionStore(key_of(browser))
    store.update(values)
    store.save()


def is_in(browser: Browser) -> bool:
    return browser.get(ACCOUNT).status == 200


def test_passkey_login__asked_for_by_a_stranger__stores_no_session(api: Client) -> None:
    before = set(Session.objects.values_list("pk", flat=True))
    for _ in range(5):
        answer = Browser(api).get(PASSKEY, X_Requested_With="XMLHttpRequest")
        assert (answer.status, "challenge" in answer.text) == (200, True)
        cookies = [line.partition("=")[0] for line in answer.headers.getlist("Set-Cookie")]
        assert cookies == ["fieldpost_passkey"]
    added = Session.objects.exclude(pk__in=before)
    assert [row for row in added if "mfa.webauthn.state" in row.get_decoded()] == []


def test_passkey_login__wrong_answers__leave_no_session(api: Client) -> None:
    browser = Browser(api)
    browser.get(PASSKEY, X_Requested_With="XMLHttpRequest")
    for credential in ("{}", "[]", "no json", '{"response": {"userHandle": 1}}'):
        answer = browser.post(PASSKEY, form="/account/login/", credential=credential)
        assert (answer.status, answer.headers["Location"]) == (302, "/account/login/")
    assert settings.SESSION_COOKIE_NAME not in browser.cookies


def test_session__of_a_stranger_who_asks_for_a_password__lasts_an_hour(api: Client) -> None:
    browser = Browser(api)
    browser.send(FORGOT, email=new_email())
    assert 0 < days_left(browser) <= 1 / 24


def test_session__of_a_login__lasts_30_days_without_use(api: Client) -> None:
    browser = Browser(api)
    log_in(browser, person_of(make_tenant()), remember="on")
    assert 29.9 < days_left(browser) <= 30


def test_session__used_on_another_day__lasts_30_days_more_but_never_90(api: Client) -> None:
    browser = logged_in(api, person_of(make_tenant()))
    for age, left in ((20, 30), (85, 5)):
        change(browser, **{LOGGED_IN_AT: time.time() - age * DAY, "renewed_at": time.time() - DAY - 1})
        Session.objects.filter(session_key=key_of(browser)).update(expire_date=now() + dt.timedelta(days=1))
        assert "Max-Age" in browser.get(ACCOUNT).headers["Set-Cookie"]
        assert left - 0.1 < days_left(browser) <= left


def test_session__of_the_last_release__is_used_further_and_asked_for_the_password(api: Client) -> None:
    browser, person = Browser(api), person_of(make_tenant())
    browser.cookies = logged_in(api, person).cookies
    store = SessionStore(key_of(browser))
    del store[LOGGED_IN_AT]
    store.save()
    assert is_in(browser)
    assert browser.get("/account/2fa/totp/activate/").status == 302
    assert time.time() - SessionStore(key_of(browser))[LOGGED_IN_AT] >= 600


def test_clean_up__ended_sessions_and_old_invitations__are_deleted(api: Client) -> None:
    tenant = make_tenant()
    browser, past = logged_in(api, person_of(tenant)), now() - dt.timedelta(days=31)
    assert is_in(browser)
    Session.objects.filter(session_key=key_of(browser)).update(expire_date=past)
    UserSession.objects.filter(session_key=key_of(browser)).update(created_at=past)
    for email, expires_at in (("a@example.com", past), ("b@example.com", now())):
        Invitation.objects.create(
            organization=tenant.organization, email=email, digest=secrets.token_hex(32), expires_at=expires_at
        )
    purge_sessions()
    purge_invitations()
    assert not Session.objects.filter(session_key=key_of(browser)).exists()
    assert not UserSession.objects.filter(session_key=key_of(browser)).exists()
    assert list(Invitation.objects.filter(organization=tenant.organization).values_list("email", flat=True)) == [
        "b@example.com"
    ]


def test_sessions__list__shows_mine_with_devices_and_ends_the_others(api: Client) -> None:
    tenant = make_tenant()
    person, stranger = person_of(tenant), logged_in(api, member_of(tenant.organization, "member"))
    mine, other = Browser(api), Browser(api)
    for browser in (mine, other):
        log_in(browser, person)
    mine.get(ACCOUNT)
    other.get(ACCOUNT)
    UserSession.objects.filter(session_key=key_of(other)).update(user_agent=FIREFOX)
    page = text_of(mine.get(SESSIONS))
    assert "Firefox on Linux" in page
    assert page.count("This one") == 1
    done = mine.send(SESSIONS)
    assert done.status == 302
    assert "All other sessions are ended" in text_of(mine.get(SESSIONS))
    assert [is_in(browser) for browser in (mine, other, stranger)] == [True, False, True]


def test_sessions__others_ended__are_in_the_trail_once(api: Client) -> None:
    person = person_of(make_tenant())
    mine, other = logged_in(api, person), Browser(api)
    log_in_with(other, person, FIREFOX)
    for browser in (mine, other):
        browser.get(ACCOUNT)
    for _ in range(2):  # the second time there is no other
        mine.send(SESSIONS)
    event = AuditEvent.objects.get(user=person, action="account.sessions_ended")
    assert (event.actor, event.address, event.organization) == (person.email, api.address, None)
    assert event.changes == {"browsers": [None, [FIREFOX]]}
    assert "Ended other sessions" in text_of(mine.get(ACCOUNT))


def test_session__of_a_closed_account__stays_ended_when_it_is_opened_again(api: Client) -> None:
    for ways in ("update", "save", "used while closed"):
        person = person_of(make_tenant())
        browser = logged_in(api, person)
        assert is_in(browser)
        if ways == "save":
            person.is_active = False
            person.save()
        else:
            User.objects.filter(pk=person.pk).update(is_active=False)
        if ways == "used while closed":
            User.objects.filter(pk=person.pk).update(session_epoch=0)
            assert not is_in(browser)
        User.objects.filter(pk=person.pk).update(is_active=True)
        assert not is_in(browser), ways
        assert log_in(browser, person).status == 302
        assert is_in(browser)


def notices_of(user: User) -> list[Notice]:
    return list(Notice.objects.filter(account=user, kind="account.new_device"))


def log_in_with(browser: Browser, user: User, agent: str) -> None:
    browser.agent = agent
    assert log_in(browser, user).status == 302


def test_log_in__from_a_new_device__is_mailed_to_the_person_once(api: Client) -> None:
    person = person_of(make_tenant())
    known, new = Browser(api), Browser(api)
    log_in_with(known, person, FIREFOX)
    assert notices_of(person) == []  # the first login of an account
    known.send("/account/logout/")
    log_in_with(known, person, FIREFOX)
    assert notices_of(person) == []
    log_in_with(new, person, FIREFOX)
    (notice,) = notices_of(person)
    assert "Firefox on Linux" in notice.text
    new.send("/account/logout/")
    log_in_with(new, person, FIREFOX)
    assert len(notices_of(person)) == 1


def test_device__known_to_somebody_else__is_new_to_me(api: Client) -> None:
    mine, other = person_of(make_tenant()), person_of(make_tenant())
    browser = Browser(api)
    for person in (mine, other):
        log_in_with(Browser(api), person, FIREFOX)
    log_in_with(browser, other, FIREFOX)
    browser.send("/account/logout/")
    Notice.objects.filter(account=mine).delete()
    log_in_with(browser, mine, FIREFOX)
    assert len(notices_of(mine)) == 1
