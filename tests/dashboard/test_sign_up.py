"""Signing up: an organization, whole from the start, for a person whose address is verified by a code."""

import re
import secrets
from typing import Any
from urllib.parse import urlencode

import pytest
from allauth.account.models import EmailAddress

from forms_app.models import Form
from keys.models import AccessKey, Membership, Organization, User
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import MailReceiver
from tests.services.waiting import eventually
from tests.support.accounts import CONFIRM, SIGN_UP, log_in, mailed_code, new_email, sign_up, verify
from tests.support.browser import LOGIN, PASSWORD, Browser, logged_in, markup_of, person_of, place, text_of
from tests.support.mail_links import text_part
from tests.support.tenants import make_tenant
from webhooks.models import Delivery

IN_THE_LOG = "the mail is in the terminal or the log where it runs"


def test_sign_up__with_the_mailed_code__opens_an_organization_that_is_whole(api: Client, smtp: MailReceiver) -> None:
    browser, email, name = Browser(api), new_email(), f"Küche & Söhne {secrets.token_hex(4)}"
    asked = sign_up(browser, email, organization=name)
    assert asked.headers["Location"] == CONFIRM
    page = browser.get(CONFIRM)
    assert email in text_of(page)
    assert "Send a new code" in page.text
    done = browser.follow(verify(browser, mailed_code(smtp, email)))

    organization = Organization.objects.get(name=name)
    assert done.headers["Location"] == f"/dashboard/o/{organization.slug}/"
    assert "&amp;" in browser.follow(done).text
    assert Membership.objects.get(organization=organization).role == "owner"
    assert Form.objects.get(organization=organization).is_default
    keys = AccessKey.objects.filter(organization=organization).order_by("mode")
    assert [(key.kind, key.mode) for key in keys] == [("publishable", "live"), ("publishable", "test")]
    assert EmailAddress.objects.get(email=email).verified


def test_sign_up__before_the_code__opens_nothing(api: Client, smtp: MailReceiver) -> None:
    browser, email = Browser(api), new_email()
    sign_up(browser, email)
    assert browser.get("/dashboard/").headers["Location"] == f"{LOGIN}?next=/dashboard/"
    wrong = verify(browser, "AAAA-AAAA")
    assert (wrong.status, "That code is not correct" in wrong.text) == (200, True)
    assert browser.get("/dashboard/").headers["Location"] == f"{LOGIN}?next=/dashboard/"
    smtp.wait_for(email)
    # Logging in instead leads to the same question, with a new code.
    other = Browser(api)
    assert log_in(other, User.objects.get(email=email)).headers["Location"] == CONFIRM
    assert verify(other, mailed_code(smtp, email, count=2)).status == 302
    assert other.get("/dashboard/").headers["Location"].startswith("/dashboard/o/acme")


def test_sign_up__code_of_another_person__verifies_nothing(api: Client, smtp: MailReceiver) -> None:
    mine, theirs = new_email(), new_email()
    browser = Browser(api)
    sign_up(Browser(api), theirs)
    sign_up(browser, mine)
    assert verify(browser, mailed_code(smtp, theirs)).status == 200
    assert not EmailAddress.objects.filter(email__in=[mine, theirs], verified=True).exists()


def test_sign_up__asking_for_new_codes__gets_two_and_the_last_one_works(api: Client, smtp: MailReceiver) -> None:
    browser, email = Browser(api), new_email()
    sign_up(browser, email)
    for sent in (1, 2):
        smtp.wait_for(email, sent)  # or a later mail might arrive first
        assert "Send a new code" in browser.get(CONFIRM).text
        browser.send(CONFIRM, action="resend")
    assert "Send a new code" not in browser.get(CONFIRM).text
    first, _, last = (text_part(one) for one in smtp.wait_for(email, 3))
    assert first != last
    browser.send(CONFIRM, action="resend")
    assert verify(browser, mailed_code(smtp, email, count=3)).status == 302
    assert len(smtp.to(email)) == 3
    assert browser.get("/dashboard/").headers["Location"].startswith("/dashboard/o/acme")


def test_sign_up__earlier_of_two_codes__is_refused_and_the_later_one_works(api: Client, smtp: MailReceiver) -> None:
    browser, email = Browser(api), new_email()
    sign_up(browser, email)
    earlier = mailed_code(smtp, email)
    browser.send(CONFIRM, action="resend")
    later = mailed_code(smtp, email, count=2)
    refused = verify(browser, earlier)
    assert (refused.status, "That code is not correct" in refused.text) == (200, True)
    assert verify(browser, later).status == 302


def test_sign_up__address_that_has_an_account__answers_the_same_and_tells_its_owner(
    api: Client, service: Application, smtp: MailReceiver
) -> None:
    owner = person_of(make_tenant())
    known, unknown = Browser(api), Browser(api)
    email = new_email()
    answers = [sign_up(known, owner.email.upper()), sign_up(unknown, email)]
    assert [(one.status, one.headers["Location"]) for one in answers] == [(302, CONFIRM)] * 2
    pages = [text_of(known.get(CONFIRM)).replace(owner.email, "X"), text_of(unknown.get(CONFIRM)).replace(email, "X")]
    assert pages[0] == pages[1]
    mail = smtp.wait_for(owner.email)[0]
    assert mail.message["Subject"] == "You already have an account on Fieldpost"
    assert f"{service.base_url}/account/login/" in text_part(mail)
    assert User.objects.filter(email=owner.email).count() == 1
    assert Membership.objects.filter(user=owner).count() == 1


def test_sign_up__owner_of_the_account__is_told_how_to_leave_the_page_of_codes(api: Client, smtp: MailReceiver) -> None:
    """In the same browser, the login leads back to that page until it is canceled."""
    owner, browser = person_of(make_tenant()), Browser(api)
    sign_up(browser, owner.email)
    mail = text_part(smtp.wait_for(owner.email)[0])
    assert "This mail has no code. If a page asks you for one, choose “Log in instead” there." in mail
    page = browser.follow(browser.get(LOGIN))
    assert "The mail has no code? Then this address already has an account: choose “Log in instead”." in text_of(page)
    forms = re.findall(r"<form .*?</form>", markup_of(page))
    (leave,) = (form for form in forms if "Log in instead" in form)
    action, after = re.search(r'action="([^"]+)"', leave), re.search(r'name="next" value="([^"]+)"', leave)
    assert action
    assert after
    done = browser.post(action[1], form=CONFIRM, next=after[1])
    assert (done.status, done.headers["Location"], browser.get(LOGIN).status) == (302, LOGIN, 200)


@pytest.mark.on_sqlite
def test_sign_up__without_a_mail_server__says_where_the_code_is(start_service: Any) -> None:
    with Client(start_service(EMAIL_URL="consolemail://").port) as api:
        browser = Browser(api)
        page = browser.follow(sign_up(browser, new_email()))
    assert IN_THE_LOG in text_of(page)
    assert "spam folder" not in text_of(page)


@pytest.mark.on_sqlite
def test_members_and_notifications__without_a_mail_server__say_where_the_mails_are(
    service: Application, start_service: Any
) -> None:
    tenant = make_tenant()
    pages = [place(tenant, "members"), place(tenant, f"forms/{tenant.form()}/notifications")]
    with Client(service.port) as api:
        assert not [page for page in pages if IN_THE_LOG in text_of(logged_in(api, person_of(tenant)).get(page))]
    with Client(start_service(EMAIL_URL="consolemail://").port) as api:
        assert [page for page in pages if IN_THE_LOG in text_of(logged_in(api, person_of(tenant)).get(page))] == pages


def test_sign_up__host_that_the_asker_made_up__is_in_no_mail(
    api: Client, service: Application, smtp: MailReceiver
) -> None:
    owner, browser = person_of(make_tenant()), Browser(api)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get(SIGN_UP).text)
    assert token
    entered = {"email": owner.email, "password1": PASSWORD, "organization": "Acme", "csrfmiddlewaretoken": token[1]}
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    headers = {"Host": f"localhost:{service.port}", "Cookie": cookies}
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    assert api.post(SIGN_UP, data=urlencode(entered), headers=headers).status == 302
    text = text_part(smtp.wait_for(owner.email)[0])
    assert service.base_url in text
    assert "localhost" not in text


def test_sign_up__mail_server_refuses__can_be_asked_for_another_code(api: Client, smtp: MailReceiver) -> None:
    browser, email = Browser(api), new_email()
    smtp.rejections[email] = "550 no such user"
    assert "Send a new code" in browser.follow(sign_up(browser, email)).text
    eventually(lambda: list(Delivery.objects.filter(target=email).values_list("status", flat=True)) == ["failed"])
    del smtp.rejections[email]
    browser.send(CONFIRM, action="resend")
    assert verify(browser, mailed_code(smtp, email)).headers["Location"].startswith("/dashboard/")


@pytest.mark.on_sqlite
@pytest.mark.parametrize("password", ["Summer2026!", "Fieldpost2026", "letmein12345", "Brzeczykqontoru"])
def test_sign_up__password_that_is_guessed_soon__is_refused_with_advice(api: Client, password: str) -> None:
    email = new_email()
    answer = sign_up(Browser(api), email, password1=password, organization="Brzeczyk Qontoru")
    assert (answer.status, "This password is too easy to guess" in answer.text) == (200, True)
    assert "four or more unrelated words" in text_of(answer)
    assert not User.objects.filter(email=email).exists()


@pytest.mark.on_sqlite
def test_sign_up__weak_password_or_no_organization__asks_again(api: Client) -> None:
    browser, email = Browser(api), new_email()
    weak = sign_up(browser, email, password1="password12")
    assert (weak.status, "too common" in weak.text) == (200, True)
    nameless = sign_up(browser, email, organization="  ")
    assert (nameless.status, "This field is required" in nameless.text) == (200, True)
    assert not User.objects.filter(email=email).exists()


def test_sign_up__name_that_is_taken__gets_a_number(api: Client, smtp: MailReceiver) -> None:
    name = f"Acme {secrets.token_hex(6)}"
    for _ in range(2):
        browser, email = Browser(api), new_email()
        sign_up(browser, email, organization=name)
        verify(browser, mailed_code(smtp, email))
    slugs = sorted(Organization.objects.filter(name=name).values_list("slug", flat=True))
    assert slugs == [slugs[0], f"{slugs[0]}-2"]


@pytest.mark.on_sqlite
def test_sign_up__page__asks_in_this_order_and_loads_nothing_from_elsewhere(api: Client) -> None:
    page = api.get(SIGN_UP)
    order = [page.text.index(f'name="{name}"') for name in ("organization", "email", "password1")]
    assert order == sorted(order)
    policy = page.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_person__who_signed_up__logs_in_with_the_password(api: Client, smtp: MailReceiver) -> None:
    email = new_email()
    browser = Browser(api)
    sign_up(browser, email)
    verify(browser, mailed_code(smtp, email))
    assert Browser(api).send(LOGIN, login=email, password=PASSWORD).headers["Location"] == "/dashboard/"
