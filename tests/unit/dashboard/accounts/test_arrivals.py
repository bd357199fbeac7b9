"""People whose address somebody else vouches for: who gets which account, and who none."""

import secrets
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.db import IntegrityError
from pytest_django import Settings

from dashboard.accounts import arrivals
from dashboard.accounts.arrivals import NotLetIn, let_in
from keys.invitations import invite
from keys.members import create_person
from keys.models import AuditEvent, Invitation, Membership, Role, User
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.django_db


def new_address() -> str:
    return f"{secrets.token_hex(6)}@example.com"


def known(email: str, *, is_verified: bool = True) -> User:
    user = User.objects.create_user(email, "a good password")
    EmailAddress.objects.create(user=user, email=email, verified=is_verified, primary=True)
    return user


def role_of(user: User, tenant: Tenant) -> str:
    return Membership.objects.get(user=user, organization=tenant.organization).role


@pytest.fixture
def company(settings: Settings) -> Tenant:
    tenant = make_tenant()
    settings.OIDC_ORGANIZATION = tenant.organization.slug
    return tenant


@pytest.mark.parametrize("is_upper", [False, True])
def test_address__verified_there_and_here__leads_to_its_account(*, is_upper: bool) -> None:
    email = new_address()
    user = known(email)
    assert let_in(email.upper() if is_upper else f" {email} ", is_verified=True) == user
    assert not Membership.objects.filter(user=user).exists()


@pytest.mark.parametrize(
    ("there", "here", "is_active", "words"),
    [
        (False, True, True, "is not confirmed where you logged in"),
        (True, False, True, "nobody has confirmed here"),
        (True, True, False, "is closed"),
    ],
)
@pytest.mark.usefixtures("company")
def test_account__unverified_or_closed__is_not_entered(*, there: bool, here: bool, is_active: bool, words: str) -> None:
    email = new_address()
    user = known(email, is_verified=here)
    User.objects.filter(pk=user.pk).update(is_active=is_active)
    with pytest.raises(NotLetIn, match=words):
        let_in(email, is_verified=there)
    assert User.objects.filter(email=email).count() == 1


def test_account__with_another_address_that_is_not_verified__is_not_entered(company: Tenant) -> None:
    email = new_address()
    waiting = known(new_address())
    EmailAddress.objects.create(user=waiting, email=email, verified=False, primary=False)
    assert let_in(email, is_verified=True) != waiting
    assert Membership.objects.filter(organization=company.organization, user=waiting).count() == 0


@pytest.mark.parametrize(
    "email", ["", "ada", "ada@example.com,eve@example.com", "\u212aate@example.com", "ada\u017f@example.com", "a" * 300]
)
@pytest.mark.usefixtures("company")
def test_address__that_is_none_or_folds_into_another__is_not_let_in(email: str) -> None:
    before = User.objects.count()
    with pytest.raises(NotLetIn, match="usable email address"):
        let_in(email, is_verified=True)
    assert User.objects.count() == before


@pytest.mark.parametrize(("sign_up", "words"), [("open", "invite"), ("invited", "invite"), ("closed", "operator")])
@pytest.mark.parametrize("organization", ["", "no-such-organization"])
def test_stranger__without_invitation_and_organization__is_not_let_in(
    settings: Settings, sign_up: str, words: str, organization: str
) -> None:
    settings.SIGN_UP, settings.OIDC_ORGANIZATION = sign_up, organization
    email = new_address()
    with pytest.raises(NotLetIn, match=words):
        let_in(email, is_verified=True, role="owner")
    assert not User.objects.filter(email=email).exists()


@pytest.mark.parametrize("sign_up", ["open", "invited", "closed"])
def test_stranger__with_an_organization_for_new_people__joins_it(
    company: Tenant, settings: Settings, sign_up: str
) -> None:
    settings.SIGN_UP = sign_up
    user = let_in(new_address().upper(), is_verified=True, name="Grace  ")
    assert (user.name, user.email, role_of(user, company)) == ("Grace", user.email.lower(), "member")
    assert not user.has_usable_password()
    assert EmailAddress.objects.get(user=user).verified
    actions = AuditEvent.objects.filter(user=user).order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["member.joined", "account.signed_up"]


@pytest.mark.parametrize("role", ["owner", "admin", "member"])
def test_role__that_is_known__is_given(company: Tenant, role: str) -> None:
    assert role_of(let_in(new_address(), is_verified=True, role=role), company) == role
    assert not AuditEvent.objects.filter(action="member.role_unknown").exists()


@pytest.mark.parametrize("role", ["", "Owner", "root\x00", 1, True, {}, ["owner"], ["owner"] * 10_000, "x" * 100_000])
def test_role__that_is_unknown__gives_the_default_and_a_line(company: Tenant, settings: Settings, role: Any) -> None:
    settings.OIDC_DEFAULT_ROLE = "admin"
    user = let_in(new_address(), is_verified=True, role=role)
    assert role_of(user, company) == "admin"
    line = AuditEvent.objects.get(organization=company.organization, action="member.role_unknown")
    assert line.subject == f"{user.email} as admin, not {repr(role)[:100]}"


def test_person__known_already__keeps_the_role(company: Tenant) -> None:
    email = new_address()
    first = let_in(email, is_verified=True, role="member")
    assert let_in(email, is_verified=True, role="owner") == first
    assert role_of(first, company) == "member"


@pytest.mark.parametrize("is_the_company", [True, False])
def test_invitation__of_a_stranger__gives_its_role(
    company: Tenant, settings: Settings, *, is_the_company: bool
) -> None:
    settings.OIDC_ORGANIZATION *= is_the_company
    email = new_address()
    invite(organization=company.organization, email=email.upper(), role=Role.ADMIN, by=company.owner)
    user = let_in(email, is_verified=True, role="owner")
    assert role_of(user, company) == "admin"
    assert not Invitation.objects.filter(email=email).exists()
    assert not AuditEvent.objects.filter(action="member.role_unknown").exists()


def test_invitation__to_another_organization__waits_for_an_answer(company: Tenant) -> None:
    other, email = make_tenant(), new_address()
    invite(organization=other.organization, email=email, role=Role.OWNER, by=other.owner)
    user = let_in(email, is_verified=True)
    assert [each.organization for each in Membership.objects.filter(user=user)] == [company.organization]
    assert Invitation.objects.filter(email=email).exists()


@pytest.mark.parametrize("state", ["expired", "of a member, while sign-up is closed"])
def test_invitation__that_makes_no_account__lets_nobody_in(settings: Settings, state: str) -> None:
    tenant, email = make_tenant(), new_address()
    invitation, _ = invite(organization=tenant.organization, email=email, role=Role.ADMIN, by=tenant.owner)
    if state == "expired":
        Invitation.objects.filter(pk=invitation.pk).update(expires_at=invitation.created_at)
    else:
        settings.SIGN_UP = "closed"
    with pytest.raises(NotLetIn):
        let_in(email, is_verified=True)
    assert not User.objects.filter(email=email).exists()


def test_invitation__by_the_operator__makes_an_account_where_sign_up_is_closed(settings: Settings) -> None:
    settings.SIGN_UP = "closed"
    tenant, email = make_tenant(), new_address()
    invite(organization=tenant.organization, email=email, role=Role.ADMIN, by=None)
    assert role_of(let_in(email, is_verified=True), tenant) == "admin"


@pytest.mark.usefixtures("company")
def test_first_login__twice_at_the_same_time__makes_one_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other request commits between our look-up and our account."""
    email = new_address()
    others = create_person(email, name="")

    def add(*_arguments: object, **_values: object) -> User:
        raise IntegrityError

    lookups = iter([User.objects.none(), User.objects.all()])
    monkeypatch.setattr(arrivals, "add_new_person", add)
    monkeypatch.setattr(User, "objects", type("Users", (), {"filter": lambda **_: next(lookups).filter(email=email)}))
    assert let_in(email, is_verified=True) == others


@pytest.mark.parametrize("name", ["Visit evil.example", "http://evil", "x" * 300])
def test_name__with_a_web_address_or_too_long__is_left_out_or_cut(company: Tenant, name: str) -> None:
    user = let_in(new_address(), is_verified=True, name=name)
    assert user.name in ("", "x" * 200)
    assert role_of(user, company) == "member"
