"""Changes that decide who reads an organization's data ask for the password, unless the login is recent."""

import pytest
from django.urls import reverse

from forms_app.models import Form
from keys.models import AccessKey, Invitation, Role
from tests.services.client import Client
from tests.support.accounts import REAUTHENTICATE, code_of, log_in, with_authenticator_app
from tests.support.browser import PASSWORD, Browser, logged_in, person_of, place
from tests.support.tables.dashboard_table import IN_ORGANIZATION
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant

STALE = 601  # seconds since the login
OPENED = [
    "key-new",
    "key-regenerate",
    "destination-new-kind",
    "destination-edit",
    "destination-rotate",
    "organization-end",
    "form-erase",
    "member-remove",
]
CHANGED = [
    "members",
    "member-role",
    "member-resend",
    "form-notifications",
    "destination-activate",
    "organization-second-step",
]


def address(tenant: Tenant, name: str) -> str:
    row = IN_ORGANIZATION[name]
    return reverse(f"dashboard:{name}", kwargs={"slug": tenant.organization.slug, **row.thing(tenant)})


def stale(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, person_of(tenant), seconds_ago=STALE)


def asked(path: str) -> tuple[int, str]:
    return 302, f"{REAUTHENTICATE}?next={path.replace('/', '%2F')}"


@pytest.mark.parametrize("name", first_on_both(OPENED))
def test_page__login_11_minutes_ago__asks_first_and_then_opens(api: Client, name: str) -> None:
    tenant = make_tenant()
    browser, path = stale(api, tenant), address(tenant, name)
    answer = browser.get(path)
    assert (answer.status, answer.headers["Location"]) == asked(path)
    assert browser.send(answer.headers["Location"], password="not this one", next=path).status == 200
    assert browser.get(path).status == 302
    done = browser.send(REAUTHENTICATE, password=PASSWORD, next=path)
    assert done.headers["Location"] == path
    assert browser.get(path).status == 200


def test_page__right_after_the_login__opens_without_a_question(api: Client) -> None:
    tenant, browser = make_tenant(), Browser(api)
    log_in(browser, person_of(tenant))
    assert [browser.get(address(tenant, name)).status for name in OPENED] == [200] * len(OPENED)
    assert browser.get("/account/2fa/totp/activate/").status == 200


@pytest.mark.parametrize("name", first_on_both(OPENED + CHANGED))
def test_form__sent_11_minutes_after_the_login__changes_nothing_before_the_password(api: Client, name: str) -> None:
    tenant = make_tenant()
    browser, path = stale(api, tenant), address(tenant, name)
    answer = browser.post(path, form="/account/logout/", **IN_ORGANIZATION[name].data)
    assert (answer.status, answer.headers["Location"]) == asked(path)
    assert "Confirm that it is you" in browser.follow(answer).text


def test_form__sent_too_late__is_submitted_with_its_values_after_the_password(api: Client) -> None:
    tenant = make_tenant()
    browser, path = stale(api, tenant), place(tenant, "members")
    browser.post(path, form="/account/logout/", email="new@example.com", role="admin")
    assert not Invitation.objects.filter(organization=tenant.organization).exists()
    done = browser.send(REAUTHENTICATE, password=PASSWORD, next=path)
    assert (done.status, done.headers["Location"]) == (302, path)
    made = Invitation.objects.get(organization=tenant.organization)
    assert (made.email, made.role) == ("new@example.com", Role.ADMIN)


def test_form__sent_too_late_to_an_address_with_a_query__keeps_its_values(api: Client) -> None:
    tenant = make_tenant()
    browser, path = stale(api, tenant), place(tenant, "members")
    answer = browser.post(f"{path}?from=menu", form="/account/logout/", email="new@example.com", role="admin")
    browser.send(answer.headers["Location"], password=PASSWORD)
    made = Invitation.objects.get(organization=tenant.organization)
    assert (made.email, made.role) == ("new@example.com", Role.ADMIN)


def test_recipients__sent_too_late__are_saved_after_a_code_of_the_app(api: Client) -> None:
    tenant = make_tenant()
    secret, browser = with_authenticator_app(person_of(tenant)), stale(api, tenant)
    path = address(tenant, "form-notifications")
    browser.post(path, form="/account/logout/", recipients="ada@example.com")
    form = Form.objects.get(organization=tenant.organization, is_default=False)
    assert form.notification_recipients == []
    browser.send("/account/2fa/reauthenticate/", code=code_of(secret), next=path)
    form.refresh_from_db()
    assert form.notification_recipients == ["ada@example.com"]


def test_key__administrative__is_not_made_by_a_borrowed_session(api: Client) -> None:
    tenant = make_tenant()
    browser, path = stale(api, tenant), place(tenant, "keys/new")
    before = AccessKey.objects.filter(organization=tenant.organization).count()
    answer = browser.post(path, form="/account/logout/", name="Mine", kind="secret", admin="on", once="x")
    assert answer.status == 302
    assert AccessKey.objects.filter(organization=tenant.organization).count() == before


def test_resumed_form__of_somebody_who_is_no_longer_admin__is_refused(api: Client) -> None:
    tenant = make_tenant()
    browser, path = stale(api, tenant), place(tenant, "members")
    browser.post(path, form="/account/logout/", email="new@example.com", role="admin")
    tenant.owner.memberships.update(role=Role.MEMBER)
    assert browser.send(REAUTHENTICATE, password=PASSWORD, next=path).status == 403
    assert not Invitation.objects.filter(organization=tenant.organization).exists()
