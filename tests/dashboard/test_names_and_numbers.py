"""Names of organizations and people hold no web address, and an account makes at most three organizations on Free."""

import secrets

import pytest

from keys.models import Organization, User
from keys.plans import Plan
from tests.services.application import Application
from tests.services.client import Client
from tests.support.accounts import new_email, sign_up, with_authenticator_app
from tests.support.browser import Browser, logged_in, person_of, place
from tests.support.tenants import make_tenant

NEW = "/dashboard/organizations/new"
EVIL = "YOU WON - claim at https://evil.example/claim"
REFUSED = "cannot hold a web address"


def test_web_address__in_a_new_name__is_refused_everywhere(api: Client, service: Application) -> None:
    tenant, email = make_tenant(), new_email()
    owner = logged_in(api, person_of(tenant))
    signed_up = sign_up(Browser(api), email, organization=EVIL)
    made, renamed = owner.send(NEW, name=EVIL), owner.send(place(tenant, "organization"), name=EVIL)
    for answer in (signed_up, made, renamed):
        assert (answer.status in (200, 400), REFUSED in answer.text) == (True, True)
    with pytest.raises(RuntimeError, match=REFUSED):
        service.manage("create_organization", EVIL, "--owner", email)
    assert not Organization.objects.filter(name=EVIL).exists()
    assert not User.objects.filter(email=email).exists()


def test_web_address__in_the_admin__is_refused_for_people(api: Client) -> None:
    operator, tenant = person_of(make_tenant()), make_tenant()
    User.objects.filter(pk=operator.pk).update(is_staff=True, is_superuser=True)
    with_authenticator_app(operator)
    browser = logged_in(api, operator)
    answer = browser.send(f"/admin/keys/user/{tenant.owner.pk}/change/", name=EVIL, is_active="on")
    assert (answer.status, REFUSED in answer.text) == (200, True)
    assert User.objects.get(pk=tenant.owner.pk).name == ""


def test_free_organizations__fourth_of_an_account__is_refused(api: Client) -> None:
    owner = person_of(make_tenant())  # made by a command, which does not count
    browser = logged_in(api, owner)
    names = [f"Free {number} {secrets.token_hex(4)}" for number in range(5)]
    assert [browser.send(NEW, name=name).status for name in names[:4]] == [302, 302, 302, 400]
    assert "3 organizations on the Free plan" in browser.send(NEW, name=names[4]).text
    Organization.objects.filter(name=names[0]).update(plan=Plan.PRO)
    assert browser.send(NEW, name=names[4]).status == 302
