"""Logging in and out, a new password by mail, the second step; what a stranger at the door cannot do or learn."""

import itertools
from urllib.parse import urlencode

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator

from keys.models import User
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.receivers import MailReceiver
from tests.services.waiting import eventually
from tests.support.accounts import FORGOT, code_of, log_in, mailed_code, new_email, with_authenticator_app
from tests.support.browser import LOGIN, PASSWORD, Browser, logged_in, person_of, place, text_of
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant
from webhooks.models import Delivery

CODE_PAGE = "/account/password/reset/confirm/"
SECOND_STEP = "/account/2fa/authenticate/"
WRONG = "That address and password are not correct."


def is_in(browser: Browser) -> bool:
    answer = browser.get("/dashboard/account")
    assert answer.status in (200, 302)
    return answer.status == 200


def ask_for_code(browser: Browser, email: str) -> Answer:
    return browser.send(FORGOT, email=email)


def set_password(browser: Browser, code: str, password: str = PASSWORD) -> Answer:
    """Enter the mailed code, then the password twice."""
    form = browser.send(CODE_PAGE, code=code)
    assert form.status == 302, text_of(form)
    return browser.send(form.headers["Location"], password1=password, password2=password)


def test_log_in__right_password__leads_where_one_wanted_to_go(api: Client) -> None:
    tenant = make_tenant()
    browser, wanted = Browser(api), place(tenant, "members")
    asked = browser.get(wanted)
    assert asked.headers["Location"] == f"{LOGIN}?next={wanted}"
    person = person_of(tenant)
    done = browser.send(asked.headers["Location"], login=person.email.upper(), password=PASSWORD, next=wanted)
    assert (done.status, done.headers["Location"]) == (302, wanted)
    assert browser.get(wanted).status == 200


@pytest.mark.parametrize(
    "target", first_on_both(["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"])
)
def test_log_in__next_on_another_host__is_not_followed(api: Client, target: str) -> None:
    done = log_in(Browser(api), person_of(make_tenant()), next=target)
    assert (done.status, done.headers["Location"]) == (302, "/dashboard/")


def test_log_in__wrong_password_and_unknown_address__answer_the_same(api: Client) -> None:
    browser, known, unknown = Browser(api), person_of(make_tenant()).email, new_email()
    pages = []
    for email in (known, unknown):
        answer = browser.send(LOGIN, login=email, password="not this one")
        assert (answer.status, WRONG in answer.text) == (200, True)
        pages.append(text_of(answer).replace(email, "X"))
    assert pages[0] == pages[1]
    assert not is_in(browser)


def test_log_in__account_that_an_operator_closed__stays_outside_at_once(api: Client) -> None:
    person = person_of(make_tenant())
    browser = logged_in(api, person)
    assert is_in(browser)
    User.objects.filter(pk=person.pk).update(is_active=False)
    assert not is_in(browser)
    assert "closed" in text_of(browser.follow(log_in(browser, person)))
    assert not is_in(browser)


@pytest.mark.on_sqlite
def test_log_in__without_csrf_token__is_refused(api: Client) -> None:
    body = urlencode({"login": person_of(make_tenant()).email, "password": PASSWORD})
    answer = api.post(LOGIN, data=body, headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert (answer.status, "This page has expired" in answer.text) == (403, True)


def test_log_out__by_post_alone__closes_the_dashboard(api: Client) -> None:
    browser = logged_in(api, person_of(make_tenant()))
    assert "Log out?" in browser.get("/account/logout/").text
    assert is_in(browser)
    assert browser.send("/account/logout/").headers["Location"] == LOGIN
    assert not is_in(browser)


@pytest.mark.on_sqlite
def test_log_in__session_cookie__is_for_this_site_and_no_script(api: Client) -> None:
    done = log_in(Browser(api), person_of(make_tenant()))
    cookie = next(line for line in done.headers.getlist("Set-Cookie") if "session" in line)
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


def test_log_in__eleventh_guess__is_refused_to_that_address_alone(service: Application) -> None:
    person = person_of(make_tenant())
    with Client(service.port) as guessing, Client(service.port) as other:
        browser = Browser(guessing)
        guesses = (browser.send(LOGIN, login=person.email, password="a guess") for _ in range(15))
        tries = list(itertools.takewhile(lambda answer: WRONG in answer.text, guesses))
        refused = browser.send(LOGIN, login=person.email, password=PASSWORD)
        assert len(tries) == 10
        assert (refused.status, "Too many tries" in refused.text) == (200, True)
        assert not is_in(browser)
        assert log_in(Browser(other), person).status == 302


def test_log_in__many_accounts_from_one_address__are_limited_together(service: Application) -> None:
    with Client(service.port) as client:
        browser = Browser(client)
        answers = [browser.send(LOGIN, login=new_email(), password="a guess").text for _ in range(12)]
    assert [WRONG in text for text in answers[:10]] == [True] * 10
    assert "Too many tries" in answers[-1]


def test_log_in__of_an_office_behind_one_address__has_120_posts_a_minute(service: Application) -> None:
    person = person_of(make_tenant())
    with Client(service.port) as office:
        some = Browser(office)
        posts = [some.send(LOGIN, login="", password="").status for _ in range(119)]  # nothing to hash: quick
        last, over = (log_in(Browser(office), person) for _ in range(2))
    assert posts == [200] * 119
    assert (last.status, over.status) == (302, 429)
    assert "Wait a minute" in text_of(over)
    assert over.headers["Retry-After"] == "60"


def test_password__person_made_by_a_command__sets_one_by_mail_and_gets_in(
    api: Client, service: Application, smtp: MailReceiver
) -> None:
    email, name = new_email(), f"Made by command {new_email()[:12]}"
    service.manage("create_organization", name, "--plan", "pro", "--owner", email)
    assert not User.objects.get(email=email).has_usable_password()
    browser = Browser(api)
    assert ask_for_code(browser, email).headers["Location"] == CODE_PAGE
    assert email in text_of(browser.get(CODE_PAGE))
    done = set_password(browser, mailed_code(smtp, email))
    assert "Your password is set" in text_of(browser.follow(done))
    # The code came by mail, so the address is verified with it.
    assert log_in(browser, User.objects.get(email=email)).headers["Location"] == "/dashboard/"
    assert "made-by-command" in browser.get("/dashboard/").headers["Location"]


def test_password__unknown_address__answers_the_same_and_is_told_by_mail(api: Client, smtp: MailReceiver) -> None:
    known, unknown = person_of(make_tenant()).email, new_email()
    pages = []
    for email in (known, unknown):
        browser = Browser(api)
        asked = ask_for_code(browser, email)
        assert (asked.status, asked.headers["Location"]) == (302, CODE_PAGE)
        pages.append(text_of(browser.get(CODE_PAGE)).replace(email, "X"))
    assert pages[0] == pages[1]
    assert smtp.wait_for(unknown)[0].message["Subject"] == "No account with this address"


def test_password__set_anew__ends_every_session_and_the_old_one_and_tells_the_owner(
    api: Client, smtp: MailReceiver
) -> None:
    person = person_of(make_tenant())
    elsewhere, browser = logged_in(api, person), Browser(api)
    assert is_in(elsewhere)
    ask_for_code(browser, person.email)
    set_password(browser, mailed_code(smtp, person.email), "another long and quiet one")
    assert not is_in(elsewhere)
    assert WRONG in log_in(Browser(api), person).text
    assert log_in(Browser(api), person, "another long and quiet one").status == 302
    assert smtp.wait_for(person.email, 2)[1].message["Subject"] == "Your password was changed"


def test_password__code_guessed_three_times__is_over(api: Client, smtp: MailReceiver) -> None:
    person = person_of(make_tenant())
    browser = Browser(api)
    ask_for_code(browser, person.email)
    assert [browser.send(CODE_PAGE, code="AAAA-AAAA").status for _ in range(3)] == [200, 200, 302]
    late = browser.get(CODE_PAGE)
    assert (late.status, late.headers["Location"]) == (302, LOGIN)
    assert mailed_code(smtp, person.email)


def test_password__mail_server_busy__mails_the_code_as_soon_as_it_can(api: Client, smtp: MailReceiver) -> None:
    person = person_of(make_tenant())
    smtp.refusals[person.email] = "451 try later"
    browser = Browser(api)
    assert ask_for_code(browser, person.email).headers["Location"] == CODE_PAGE
    eventually(lambda: Delivery.objects.get(target=person.email).attempt_count == 1)
    del smtp.refusals[person.email]
    done = set_password(browser, mailed_code(smtp, person.email))  # by itself, after about 5 seconds
    assert "Your password is set" in text_of(browser.follow(done))


def test_second_step__password_alone__opens_nothing(api: Client) -> None:
    person = person_of(make_tenant())
    secret = with_authenticator_app(person)
    browser = Browser(api)
    assert log_in(browser, person).headers["Location"] == SECOND_STEP
    assert not is_in(browser)
    wrong = browser.send(SECOND_STEP, code="000000" if code_of(secret) != "000000" else "000001")
    assert (wrong.status, "That code is not correct" in wrong.text) == (200, True)
    assert not is_in(browser)
    assert "passkey" not in browser.get(SECOND_STEP).text.lower()  # none was added
    assert browser.send(SECOND_STEP, code=code_of(secret)).headers["Location"] == "/dashboard/"
    assert is_in(browser)


def test_second_step__code_that_was_used__opens_nothing(api: Client) -> None:
    person = person_of(make_tenant())
    code = code_of(with_authenticator_app(person))
    first, second = Browser(api), Browser(api)
    for browser in (first, second):
        log_in(browser, person)
        browser.send(SECOND_STEP, code=code)
    assert (is_in(first), is_in(second)) == (True, False)


def test_second_step__older_code_than_the_last_one__opens_nothing(api: Client) -> None:
    """A code lives for 90 seconds; one that was seen must not be usable after the next one."""
    person = person_of(make_tenant())
    secret = with_authenticator_app(person)
    opened = []
    for steps in (1, 0):
        browser = Browser(api)
        log_in(browser, person)
        browser.send(SECOND_STEP, code=code_of(secret, steps))
        opened.append(is_in(browser))
    assert opened == [True, False]


def test_second_step__guesses_from_many_addresses__are_limited_together(service: Application) -> None:
    """An attacker with the password must not be able to try a million codes from a thousand addresses."""
    person = person_of(make_tenant())
    with_authenticator_app(person)
    texts = []
    for _ in range(4):
        with Client(service.port) as client:
            browser = Browser(client)
            log_in(browser, person)
            texts += [browser.send(SECOND_STEP, code="abcdef").text for _ in range(3)]
    assert ["Too many tries" in text for text in texts] == [False] * 10 + [True] * 2


def test_second_step__new_password_by_mail__does_not_go_around_it(api: Client, smtp: MailReceiver) -> None:
    person = person_of(make_tenant())
    with_authenticator_app(person)
    browser = Browser(api)
    ask_for_code(browser, person.email)
    set_password(browser, mailed_code(smtp, person.email), "another long and quiet one")
    assert log_in(browser, person, "another long and quiet one").headers["Location"] == SECOND_STEP
    assert not is_in(browser)


def test_log_in__address_never_verified__asks_for_a_code_first(api: Client, smtp: MailReceiver) -> None:
    person = person_of(make_tenant())
    EmailAddress.objects.filter(user=person).update(verified=False)
    browser = Browser(api)
    assert log_in(browser, person).headers["Location"] == "/account/confirm-email/"
    assert not is_in(browser)
    assert mailed_code(smtp, person.email)


def test_authenticators__of_others__are_not_to_be_seen(api: Client) -> None:
    person, other = person_of(make_tenant()), person_of(make_tenant())
    data = {"name": "Theirs", "credential": {}}
    foreign = Authenticator.objects.create(user=other, type=Authenticator.Type.WEBAUTHN, data=data)
    browser = Browser(api)
    log_in(browser, person)
    browser.send("/account/reauthenticate/", password=PASSWORD)
    for page in ("edit", "remove"):
        assert browser.get(f"/account/2fa/webauthn/keys/{foreign.pk}/{page}/").status == 404
