"""The pages of an account: address, password, second step, organizations, deletion."""

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator

from keys.models import AuditEvent, Membership, Organization, User
from tests.services.client import Client
from tests.services.receivers import MailReceiver
from tests.support.accounts import REAUTHENTICATE, code_of, log_in, mailed_code, new_email, reauthenticate
from tests.support.browser import LOGIN, PASSWORD, Browser, logged_in, member_of, person_of, text_of
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant

ACCOUNT = "/dashboard/account"
DELETE = "/dashboard/account/delete"
EMAIL = "/account/email/"
ACTIVATE = "/account/2fa/totp/activate/"
DEACTIVATE = "/account/2fa/totp/deactivate/"
CODES = "/account/2fa/recovery-codes/"


def exists(user: User) -> bool:
    return User.objects.filter(pk=user.pk).exists()


def certain(api: Client, user: User) -> Browser:
    """Return a browser in which this person has just entered the password again."""
    browser = logged_in(api, user)
    reauthenticate(browser)
    return browser


def secret_on(browser: Browser) -> str:
    return text_of(browser.get(ACTIVATE)).partition("into the app ")[2].split()[0]


def test_account__page__shows_what_is_theirs(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    person = person_of(tenant)
    Membership.objects.create(organization=other.organization, user=person, role="member")
    page = text_of(logged_in(api, person).get(ACCOUNT))
    for said in (person.email, f"{tenant.organization.name} Owner", f"{other.organization.name} Member"):
        assert said in page
    assert "a stolen password is enough" in page


@pytest.mark.parametrize("path", first_on_both([DELETE, ACTIVATE, "/account/2fa/webauthn/add/", CODES + "generate/"]))
def test_delicate_page__without_the_password_once_more__is_not_shown(api: Client, path: str) -> None:
    browser = logged_in(api, person_of(make_tenant()), seconds_ago=601)
    if path.startswith(CODES):
        Authenticator.objects.create(user=User.objects.latest("date_joined"), type="totp", data={"secret": "A" * 32})
    answer = browser.get(path)
    assert (answer.status, answer.headers["Location"].partition("?")[0]) == (302, REAUTHENTICATE)
    wrong = browser.send(REAUTHENTICATE, password="not this one")
    assert wrong.status == 200
    assert browser.get(path).status == 302
    done = browser.send(REAUTHENTICATE, password=PASSWORD, next=path)
    assert done.headers["Location"] == path
    assert browser.get(path).status == 200


def test_email__changed__counts_once_the_new_address_is_verified(api: Client, smtp: MailReceiver) -> None:
    person, new = person_of(make_tenant()), new_email()
    old, browser = person.email, certain(api, person)
    browser.send(EMAIL, email=new, action_add="")
    person.refresh_from_db()
    assert person.email == old
    browser.send("/account/confirm-email/", code=mailed_code(smtp, new))
    person.refresh_from_db()
    assert person.email == new
    assert EmailAddress.objects.get(user=person).email == new
    assert "was changed" in smtp.wait_for(old)[0].message["Subject"]  # the old address is notified
    assert log_in(Browser(api), person).status == 302
    assert "are not correct" in Browser(api).send(LOGIN, login=old, password=PASSWORD).text


def test_email__of_somebody_else__cannot_be_taken(api: Client, smtp: MailReceiver) -> None:
    person, other = person_of(make_tenant()), person_of(make_tenant())
    old, browser = person.email, certain(api, person)
    browser.send(EMAIL, email=other.email, action_add="")
    # The page does not tell that the address is known; not even its code makes it theirs.
    refused = browser.send("/account/confirm-email/", code=mailed_code(smtp, other.email))
    assert refused.status == 200
    person.refresh_from_db()
    assert person.email == old
    assert EmailAddress.objects.get(email=other.email).user == other


def test_password__changed__ends_other_sessions_and_tells_the_owner(api: Client, smtp: MailReceiver) -> None:
    person = person_of(make_tenant())
    elsewhere, browser = logged_in(api, person), logged_in(api, person)
    page, new = "/account/password/change/", "another long and quiet one"
    assert browser.send(page, oldpassword="not this one", password1=new, password2=new).status == 200
    assert elsewhere.get(ACCOUNT).status == 200
    browser.send(page, oldpassword=PASSWORD, password1=new, password2=new)
    assert (browser.get(ACCOUNT).status, elsewhere.get(ACCOUNT).status) == (200, 302)
    assert smtp.wait_for(person.email)[0].message["Subject"] == "Your password was changed"


def test_password__changed_to_the_name_of_the_organization__is_refused(api: Client) -> None:
    tenant = make_tenant()
    tenant.organization.name = "Zephyr Works"
    tenant.organization.save()
    browser, page = logged_in(api, person_of(tenant)), "/account/password/change/"
    answer = browser.send(page, oldpassword=PASSWORD, password1="Zephyrworks88", password2="Zephyrworks88")
    assert (answer.status, "or the name of your organization" in text_of(answer)) == (200, True)


def test_two_step_login__turned_on__shows_recovery_codes_that_work_once(api: Client, smtp: MailReceiver) -> None:
    person = person_of(make_tenant())
    browser = certain(api, person)
    page = browser.get(ACTIVATE)
    assert 'src="data:image/svg+xml' in page.text
    wrong = browser.post(ACTIVATE, form=ACTIVATE, code="abcdef")
    assert (wrong.status, "That code is not correct" in wrong.text) == (200, True)
    secret = secret_on(browser)  # every request of the page creates another
    done = browser.post(ACTIVATE, form="/account/logout/", code=code_of(secret))
    assert done.headers["Location"] == CODES
    codes = [word for word in text_of(browser.get(CODES)).split() if word.isdigit() and len(word) == 8]
    assert len(codes) == 10
    assert smtp.wait_for(person.email)[0].message["Subject"] == "Two-step login is on"

    opened = []
    for _ in range(2):
        other = Browser(api)
        log_in(other, person)
        other.send("/account/2fa/authenticate/", code=codes[0])
        opened.append(other.get(ACCOUNT).status)
    assert opened == [200, 302]


def test_two_step_login__turned_off__asks_first_and_is_told_by_mail(api: Client, smtp: MailReceiver) -> None:
    person = person_of(make_tenant())
    Authenticator.objects.create(user=person, type="totp", data={"secret": "A" * 32})
    browser = certain(api, person)
    assert "Your password is then enough" in browser.get(DEACTIVATE).text
    browser.send(DEACTIVATE)
    assert not Authenticator.objects.filter(user=person).exists()
    assert smtp.wait_for(person.email)[0].message["Subject"] == "Two-step login is off"


def test_delete__organization_that_is_theirs_alone__goes_only_when_ticked(api: Client) -> None:
    tenant = make_tenant()
    person = person_of(tenant)
    browser, slug = certain(api, person), tenant.organization.slug
    assert tenant.organization.name in text_of(browser.get(DELETE))
    for values in ({"typed": person.email}, {"typed": "x@example.com", "organizations": slug}, {"typed": ""}):
        assert browser.send(DELETE, **values).status == 400
        assert exists(person)
    done = browser.send(DELETE, typed=person.email.upper(), organizations=slug)
    assert (done.status, done.headers["Location"]) == (302, LOGIN)
    assert "Your account is deleted" in text_of(browser.get(LOGIN))
    assert not exists(person)
    assert not Organization.objects.filter(slug=slug).exists()
    assert not EmailAddress.objects.filter(email=person.email).exists()
    assert browser.get(ACCOUNT).status == 302
    assert api.post("/api/submit", tenant.key, json={"note": "late"}).status == 401


def test_delete__one_of_two_organizations_ticked__deletes_nothing(api: Client) -> None:
    tenant, second = make_tenant(), make_tenant()
    person = person_of(tenant)
    Membership.objects.filter(organization=second.organization).update(user=person)
    answer = certain(api, person).send(DELETE, typed=person.email, organizations=tenant.organization.slug)
    assert (answer.status, f"You are the only member of {second.organization.name}" in text_of(answer)) == (400, True)
    assert exists(person)
    assert Organization.objects.filter(pk=tenant.organization.pk).exists()


def test_delete__only_owner_of_others__is_told_what_to_do(api: Client) -> None:
    tenant = make_tenant()
    person, admin = person_of(tenant), member_of(tenant.organization, "admin")
    browser = certain(api, person)
    page = browser.get(DELETE)
    assert f"You are the only owner of {tenant.organization.name}" in text_of(page)
    assert "Delete my account" not in page.text
    browser.post(DELETE, form=ACCOUNT, typed=person.email, organizations=tenant.organization.slug)
    assert exists(person)
    Membership.objects.filter(user=admin).update(role="owner")
    assert browser.send(DELETE, typed=person.email).status == 302
    assert not exists(person)
    assert Organization.objects.filter(pk=tenant.organization.pk).exists()
    event = AuditEvent.objects.get(organization=tenant.organization, action="member.left")
    assert (event.user, event.actor, event.subject) == (None, person.email, person.email)


def test_delete__organization_left_alone_since_the_page_was_shown__is_not_erased_unnamed(api: Client) -> None:
    tenant = make_tenant()
    person, other = person_of(tenant), member_of(tenant.organization, "owner")
    browser = certain(api, person)
    assert 'name="organizations"' not in browser.get(DELETE).text
    Membership.objects.filter(user=other).delete()
    assert browser.post(DELETE, form=ACCOUNT, typed=person.email).status == 400
    assert exists(person)
    assert Organization.objects.filter(pk=tenant.organization.pk).exists()


def test_delete__foreign_organization_in_the_form__is_refused(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    person = person_of(tenant)
    slugs = [tenant.organization.slug, other.organization.slug]
    assert certain(api, person).send(DELETE, typed=person.email, organizations=slugs).status == 400
    assert exists(person)
    assert Organization.objects.filter(pk=other.organization.pk).exists()
