"""Signing up, logging in, a forgotten password: over HTTP, with the mails that come."""

import itertools
import re
import secrets

import pytest
from allauth.account.models import EmailAddress

from forms_app.models import Form
from keys.models import AccessKey, Membership, Organization, User
from tests.api.arrange import make_tenant
from tests.api.browsing import LOGIN, PASSWORD, Browser, logged_in, person_of, place, text_of
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import MailReceiver

SIGN_UP, RESET = "/account/signup/", "/account/password/reset/"
CODE = re.compile(r"^([A-Z0-9-]{6,})\s*$", re.MULTILINE)


def an_address() -> str:
    return f"{secrets.token_hex(8)}@example.com"


def code_for(smtp: MailReceiver, email: str) -> str:
    found = CODE.search(smtp.wait_for(email)[-1].message.get_content())
    assert found
    return found[1]


def sign_up(browser: Browser, email: str, organization: str = "Acme Forms") -> str:
    answer = browser.send(SIGN_UP, email=email, password1=PASSWORD, organization=organization)
    assert answer.status == 302, text_of(answer)
    return str(answer.headers["Location"])


def test_sign_up__new_address__verifies_it_and_owns_a_whole_organization(api: Client, smtp: MailReceiver) -> None:
    browser, email = Browser(api), an_address()
    page = sign_up(browser, email)
    assert browser.get("/dashboard/").headers["Location"].startswith(LOGIN), "not before the address is verified"
    answer = browser.send(page, code=code_for(smtp, email))
    home = browser.follow(browser.follow(answer) if answer.headers["Location"] == "/dashboard/" else answer)
    assert home.status == 200
    membership = Membership.objects.select_related("organization").get(user__email=email)
    assert (membership.role, membership.organization.name) == ("owner", "Acme Forms")
    assert Form.objects.filter(organization=membership.organization, is_default=True, status="published").count() == 1
    keys = AccessKey.objects.filter(organization=membership.organization)
    assert [key.kind for key in keys] == ["publishable"]


def test_sign_up__same_name_twice__gets_an_address_of_its_own(api: Client) -> None:
    name = f"Twins {secrets.token_hex(6)}"
    for _ in range(3):
        sign_up(Browser(api), an_address(), name)
    slugs = Organization.objects.filter(name=name).order_by("created_at").values_list("slug", flat=True)
    first = slugs[0]
    assert list(slugs) == [first, f"{first}-2", f"{first}-3"]


def test_sign_up__known_address__answers_the_same_and_mails_its_owner(api: Client, smtp: MailReceiver) -> None:
    owner = person_of(make_tenant())
    assert sign_up(Browser(api), owner.email) == sign_up(Browser(api), an_address())
    mail = smtp.wait_for(owner.email)[-1].message
    assert "there is one already" in mail.get_content()
    assert User.objects.filter(email=owner.email).count() == 1
    assert not Organization.objects.filter(memberships__user=owner, name="Acme Forms").exists()


@pytest.mark.parametrize("password", ["short", "password123", ""])
def test_sign_up__weak_password__says_why(api: Client, password: str) -> None:
    answer = Browser(api).send(SIGN_UP, email=an_address(), password1=password, organization="Acme")
    assert answer.status == 200
    assert 'class="errorlist"' in answer.text


def test_sign_up__mail_server_refuses__says_so_instead_of_failing(api: Client, smtp: MailReceiver) -> None:
    email = an_address()
    smtp.refusals[email] = "550 no such user"
    browser = Browser(api)
    page = sign_up(browser, email)
    assert "We could not send the mail just now" in browser.get(page).text


def test_login__right_password__opens_the_dashboard(api: Client) -> None:
    tenant = make_tenant()
    browser = Browser(api)
    answer = browser.send(LOGIN, login=person_of(tenant).email.upper(), password=PASSWORD)
    assert browser.follow(answer).headers["Location"] == place(tenant)


def test_login__wrong_password_or_unknown_address__answers_the_same(api: Client) -> None:
    owner = person_of(make_tenant())
    pages = [Browser(api).send(LOGIN, login=email, password="not this one") for email in (owner.email, an_address())]
    assert [page.status for page in pages] == [200, 200]
    one, other = (re.sub(r"\S+@example.com", "", text_of(page)) for page in pages)
    assert one == other
    assert "not correct" in one


def test_login__without_csrf_token__is_refused(api: Client) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert api.post(LOGIN, data="login=a&password=b", headers=headers).status == 403


def test_login__next_of_another_host__is_not_followed(api: Client) -> None:
    browser = Browser(api)
    path = f"{LOGIN}?next=https://evil.example/"
    answer = browser.post(path, form=path, login=person_of(make_tenant()).email, password=PASSWORD)
    assert answer.headers["Location"] == "/dashboard/"


def test_login__eleventh_wrong_try_within_a_minute__is_refused_from_that_address_alone(service: Application) -> None:
    owner = person_of(make_tenant())
    with Client(service.port) as guessing, Client(service.port) as other:
        browser = Browser(guessing)
        # Ten, or up to twenty when the minute ends in between; then it is refused, whatever the password.
        guesses = (browser.send(LOGIN, login=owner.email, password=f"guess {n}") for n in range(21))
        tries = list(itertools.takewhile(lambda answer: "Too many" not in answer.text, guesses))
        assert 10 <= len(tries) <= 20
        assert "Too many" in browser.send(LOGIN, login=owner.email, password=PASSWORD).text
        assert Browser(other).send(LOGIN, login=owner.email, password=PASSWORD).status == 302


def test_logout__after_it__the_dashboard_is_closed(api: Client) -> None:
    tenant = make_tenant()
    browser = logged_in(api, person_of(tenant))
    assert browser.get(place(tenant)).status == 200
    assert browser.post("/account/logout/", form=place(tenant)).status == 302
    assert browser.get(place(tenant)).status == 302


def test_password__owner_made_by_a_command__sets_the_first_one_by_mail(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    owner = tenant.owner
    assert not owner.has_usable_password()
    browser = Browser(api)
    page = browser.send(RESET, email=owner.email).headers["Location"]
    to_password = browser.send(page, code=code_for(smtp, owner.email))
    form = to_password.headers["Location"]
    assert browser.send(form, password1=PASSWORD, password2=PASSWORD).status == 302
    answer = Browser(api).send(LOGIN, login=owner.email, password=PASSWORD)
    assert answer.headers["Location"] == "/dashboard/", "the code has verified the address as well"
    assert EmailAddress.objects.get(user=owner).verified


def test_password__unknown_address__answers_the_same_and_says_so_by_mail(api: Client, smtp: MailReceiver) -> None:
    known, unknown = person_of(make_tenant()).email, an_address()
    answers = [Browser(api).send(RESET, email=email) for email in (known, unknown)]
    assert len({(answer.status, answer.headers["Location"]) for answer in answers}) == 1
    assert "there is none" in smtp.wait_for(unknown)[0].message.get_content()


def test_password__wrong_codes__end_the_attempt(api: Client, smtp: MailReceiver) -> None:
    browser, email = Browser(api), person_of(make_tenant()).email
    page = browser.send(RESET, email=email).headers["Location"]
    code_for(smtp, email)
    statuses = [browser.send(page, code="AAAAAA").status for _ in range(2)]
    assert statuses == [200, 200]
    assert browser.send(page, code="AAAAAA").status == 302, "the third ends it"


def test_mails__about_accounts__name_no_host_but_ours(api: Client, smtp: MailReceiver, service: Application) -> None:
    email = person_of(make_tenant()).email
    browser = Browser(api)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get(RESET).text)
    assert token
    headers = {
        **browser._headers(),
        "Content-Type": "application/x-www-form-urlencoded",
        "Host": f"localhost:{api.port}",
    }
    api.post(RESET, data=f"email={email}&csrfmiddlewaretoken={token[1]}", headers=headers)
    text = smtp.wait_for(email)[0].message.get_content()
    assert service.base_url in text
    assert "localhost" not in text
