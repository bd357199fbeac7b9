"""The operators' admin: only for staff, behind the same login, with every change in the audit trail."""

import secrets

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Permission

from config.base.times import now
from keys.models import AccessKey, AuditEvent, Membership, Organization, User
from tests.services.client import Answer, Client
from tests.support.accounts import log_in, with_authenticator_app
from tests.support.browser import Browser, logged_in, member_of, person_of, text_of, with_password
from tests.support.deliveries import make_delivery
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant
from webhooks.models import Attempt

PAGES = (
    "keys/organization/",
    "keys/user/",
    "keys/accesskey/",
    "keys/auditevent/",
    "mfa/authenticator/",
    "webhooks/delivery/",
    "submissions/usageday/",
)


@pytest.fixture
def operator(api: Client) -> Browser:
    email = f"operator-{secrets.token_hex(6)}@example.com"
    person = with_password(User.objects.create_superuser(email))
    with_authenticator_app(person)
    return logged_in(api, person)


def change(operator: Browser, tenant: Tenant, **values: str) -> Answer:
    """Save the organization's page: its one member the owner, and what `values` say otherwise."""
    own = Membership.objects.get(organization=tenant.organization, user=tenant.owner)
    entered = {
        "name": tenant.organization.name,
        "plan": tenant.organization.plan,
        "rate_limit": "",
        "memberships-TOTAL_FORMS": "1",
        "memberships-INITIAL_FORMS": "1",
        "memberships-0-id": str(own.pk),
        "memberships-0-organization": str(tenant.organization.pk),
        "memberships-0-user": str(tenant.owner.pk),
        "memberships-0-role": "owner",
    }
    return operator.send(f"/admin/keys/organization/{tenant.organization.pk}/change/", **{**entered, **values})


def trail(tenant: Tenant, action: str) -> list[tuple[str, str]]:
    rows = AuditEvent.objects.filter(organization=tenant.organization, action=action).order_by("pk")
    return [(row.user.email if row.user else "", row.subject) for row in rows]


@pytest.mark.parametrize("listed", first_on_both(["", *PAGES]))
def test_admin__whoever_is_not_staff__stays_outside(api: Client, listed: str) -> None:
    path = f"/admin/{listed}"
    asked = api.get(path)
    assert (asked.status, asked.headers["Location"].partition("?")[0]) == (302, "/admin/login/")
    assert api.get(asked.headers["Location"]).headers["Location"].startswith("/account/login/?next=")
    owner = logged_in(api, person_of(make_tenant()))
    assert owner.follow(owner.get(path)).status == 403


def test_admin__staff_with_a_second_factor__are_asked_for_it(api: Client) -> None:
    person = with_password(User.objects.create_superuser(f"{secrets.token_hex(6)}@example.com"))
    with_authenticator_app(person)
    browser = Browser(api)
    assert log_in(browser, person, next="/admin/").headers["Location"].startswith("/account/2fa/authenticate/")
    assert browser.get("/admin/").status == 302


@pytest.mark.parametrize("page", first_on_both(["", "keys/user/", "keys/organization/", "jsi18n/"]))
def test_admin__operator_without_a_second_step__is_sent_to_set_one_up(api: Client, page: str) -> None:
    person = with_password(User.objects.create_superuser(f"{secrets.token_hex(6)}@example.com"))
    browser = Browser(api)
    assert log_in(browser, person, next="/admin/").headers["Location"] == "/admin/"
    answer = browser.get(f"/admin/{page}")
    assert (answer.status, answer.headers["Location"]) == (302, "/account/2fa/")
    assert "Operators need a passkey or an authenticator app" in text_of(browser.get("/account/2fa/"))
    with_authenticator_app(person)
    assert browser.get(f"/admin/{page}").status == 200


@pytest.mark.parametrize("listed", PAGES)
def test_admin__each_list__opens_under_the_strict_policy(operator: Browser, listed: str) -> None:
    tenant = make_tenant()
    with_authenticator_app(tenant.owner)
    answer = operator.get(f"/admin/{listed}")
    assert answer.status == 200
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert operator.get(f"/admin/{listed}?q={tenant.organization.slug}").status == 200


def test_admin__organizations__are_found_by_name_slug_and_member(operator: Browser) -> None:
    tenant, other = make_tenant(), make_tenant()
    for wanted in (tenant.organization.name, tenant.organization.slug, tenant.owner.email):
        page = operator.get(f"/admin/keys/organization/?q={wanted.replace(' ', '+')}").text
        assert tenant.organization.slug in page
        assert other.organization.slug not in page


def test_plan__changed_by_an_operator__is_in_the_trail_under_their_name(operator: Browser, api: Client) -> None:
    tenant = make_tenant()
    person = User.objects.filter(is_superuser=True).latest("date_joined")
    assert change(operator, tenant, plan="enterprise", rate_limit="777").status == 302
    assert trail(tenant, "plan.changed") == [(person.email, "Enterprise")]
    assert api.get("/api/forms", tenant.key).headers["X-RateLimit-Limit"] == "777"
    assert change(operator, tenant, plan="pro").status == 302
    assert api.get("/api/forms", tenant.key).headers["X-RateLimit-Limit"] == "10000"


@pytest.mark.on_sqlite
@pytest.mark.parametrize(("plan", "rate_limit"), [("pro", "5"), ("enterprise", "0"), ("enterprise", "-1"), ("vip", "")])
def test_plan__that_does_not_exist_or_limit_that_is_none__changes_nothing(
    operator: Browser, plan: str, rate_limit: str
) -> None:
    tenant = make_tenant()
    answer = change(operator, tenant, plan=plan, rate_limit=rate_limit)
    assert (answer.status, "Please correct the error" in answer.text) == (200, True)
    stored = Organization.objects.get(pk=tenant.organization.pk)
    assert (stored.plan, stored.rate_limit) == ("enterprise", None)
    assert trail(tenant, "plan.changed") == []


def test_organization__saved_unchanged_or_renamed__writes_what_happened_and_no_more(operator: Browser) -> None:
    tenant = make_tenant()
    before = AuditEvent.objects.filter(organization=tenant.organization).count()
    assert change(operator, tenant).status == 302
    assert AuditEvent.objects.filter(organization=tenant.organization).count() == before
    assert change(operator, tenant, name="Other").status == 302
    assert Organization.objects.get(pk=tenant.organization.pk).name == "Other"
    assert len(trail(tenant, "organization.renamed")) == 1


def test_members__changed_by_an_operator__are_in_the_trail(operator: Browser) -> None:
    tenant = make_tenant()
    guest = with_password(User.objects.create_user(f"{secrets.token_hex(6)}@example.com"))
    added = {"memberships-TOTAL_FORMS": "2", "memberships-1-user": str(guest.pk), "memberships-1-role": "owner"}
    added["memberships-1-organization"] = str(tenant.organization.pk)
    assert change(operator, tenant, **added).status == 302
    assert [subject for _, subject in trail(tenant, "member.added")] == [f"{guest.email} as owner"]
    row = Membership.objects.get(organization=tenant.organization, user=guest)
    both = {"memberships-TOTAL_FORMS": "2", "memberships-INITIAL_FORMS": "2", "memberships-1-id": str(row.pk)}
    both |= {"memberships-1-user": str(guest.pk), "memberships-1-organization": str(tenant.organization.pk)}
    assert change(operator, tenant, **both, **{"memberships-1-role": "member"}).status == 302
    assert [subject for _, subject in trail(tenant, "member.role_changed")] == [f"{guest.email} is now member"]
    gone = {"memberships-1-role": "member", "memberships-1-DELETE": "on"}
    assert change(operator, tenant, **both, **gone).status == 302
    assert [subject for _, subject in trail(tenant, "member.removed")] == [guest.email]


def test_members__without_an_owner__are_not_saved(operator: Browser) -> None:
    tenant = make_tenant()
    member_of(tenant.organization, "member")
    for values in ({"memberships-0-role": "admin"}, {"memberships-0-DELETE": "on"}):
        answer = change(operator, tenant, **values)
        assert (answer.status, "An organization needs an owner" in answer.text) == (200, True)
    assert Membership.objects.get(organization=tenant.organization, user=tenant.owner).role == "owner"


def test_person__page__shows_no_password_and_closes_the_account(operator: Browser, api: Client) -> None:
    person = person_of(make_tenant())
    theirs, path = logged_in(api, person), f"/admin/keys/user/{person.pk}/change/"
    page = operator.get(path)
    assert "pbkdf2" not in page.text
    assert 'name="password"' not in page.text
    assert 'name="email"' not in page.text
    assert operator.send(path, name="", is_staff="").status == 302  # is_active is not ticked
    assert theirs.get("/dashboard/account").status == 302


def test_person__operator_who_is_no_superuser__cannot_make_one(api: Client) -> None:
    staff = with_password(User.objects.create_user(f"{secrets.token_hex(6)}@example.com", is_staff=True))
    staff.user_permissions.set(Permission.objects.filter(codename__in=["view_user", "change_user", "view_accesskey"]))
    with_authenticator_app(staff)
    browser, path = logged_in(api, staff), f"/admin/keys/user/{staff.pk}/change/"
    assert browser.send(path, name="Me", is_active="on", is_staff="on", is_superuser="on").status == 302
    staff.refresh_from_db()
    assert (staff.name, staff.is_superuser) == ("Me", False)
    # The permission to view keys does not include revoking them.
    key = AccessKey.objects.filter(organization=make_tenant().organization)[0]
    assert "Revoke permanently" not in browser.get("/admin/keys/accesskey/").text
    browser.send("/admin/keys/accesskey/", action="revoke", _selected_action=str(key.pk))
    assert AccessKey.objects.get(pk=key.pk).revoked_at is None


def test_keys__revoked_by_an_operator__stop_and_are_in_the_trail(operator: Browser, api: Client) -> None:
    tenant = make_tenant()
    key = AccessKey.objects.get(organization=tenant.organization, kind="secret")
    page = operator.get(f"/admin/keys/accesskey/{key.pk}/change/")
    assert key.digest not in page.text
    operator.send("/admin/keys/accesskey/", action="revoke", _selected_action=str(key.pk))
    assert api.get("/api/forms", tenant.key).status == 401
    assert [subject for _, subject in trail(tenant, "key.revoked")] == [str(key)]


@pytest.mark.on_sqlite
@pytest.mark.parametrize("form", ["keys/accesskey/add/", "keys/auditevent/add/"])
def test_admin__making_halves_of_things__is_refused(operator: Browser, form: str) -> None:
    assert operator.get(f"/admin/{form}").status == 403


def test_trail__in_the_admin__cannot_be_changed(operator: Browser) -> None:
    event = AuditEvent.objects.filter(organization=make_tenant().organization)[0]
    path = f"/admin/keys/auditevent/{event.pk}"
    page = operator.get(f"{path}/change/").text
    assert event.subject in page
    assert 'name="_save"' not in page
    assert operator.get(f"{path}/delete/").status == 403


def test_delivery__in_the_admin__shows_its_attempts_and_cannot_be_changed(operator: Browser) -> None:
    tenant = make_tenant()
    made = make_delivery("ada@example.com", organization=tenant.organization, body="secret words", status="failed")
    Attempt.objects.create(delivery=made, started_at=now(), status=550, duration_ms=7, response="no such user")
    path = f"/admin/webhooks/delivery/{made.pk}/change/"
    page = operator.get(path)
    assert page.status == 200
    shown = text_of(page)
    assert all(words in shown for words in ("ada@example.com", "submission.created", "no such user"))
    assert "secret words" not in page.text
    assert operator.send(path, status="delivered").status == 403
    assert "ada@example.com" in text_of(operator.get("/admin/webhooks/delivery/"))


def test_second_step__of_somebody_who_lost_it__is_deleted_without_being_shown(operator: Browser) -> None:
    person = person_of(make_tenant())
    secret = with_authenticator_app(person)
    row = Authenticator.objects.get(user=person)
    path = f"/admin/mfa/authenticator/{row.pk}"
    assert secret not in operator.get(f"{path}/change/").text
    operator.send(f"{path}/delete/", post="yes")
    assert not Authenticator.objects.filter(user=person).exists()


def test_admin__front_page__is_ours(operator: Browser) -> None:
    page = text_of(operator.get("/admin/"))
    assert "Fieldpost Operators" in page
    for theirs in ("Email addresses", "Groups"):
        assert theirs not in page


def test_rights_of_operators__given_and_taken__are_in_the_trail(operator: Browser, api: Client) -> None:
    person = with_password(User.objects.create_superuser(f"{secrets.token_hex(6)}@example.com"))
    with_authenticator_app(person)
    operator.send(f"/admin/keys/user/{person.pk}/change/", name="", is_active="on", is_staff="on")
    lost = Authenticator.objects.get(user=person).pk
    operator.send(f"/admin/mfa/authenticator/{lost}/delete/", post="yes")
    made, changed, removed = AuditEvent.objects.filter(subject__startswith=person.email).order_by("pk")
    assert (made.action, made.actor) == ("operator.rights_changed", "")
    assert (changed.action, changed.changes) == ("operator.rights_changed", {"is_superuser": [True, False]})
    assert (removed.action, removed.organization, removed.address) == (
        "operator.second_step_removed",
        None,
        api.address,
    )
    assert changed.user == removed.user != person


def test_organization__suspended_and_resumed_by_an_operator__is_in_the_trail(operator: Browser, api: Client) -> None:
    tenant = make_tenant()
    person = User.objects.filter(is_superuser=True).latest("date_joined")
    chosen = {"_selected_action": str(tenant.organization.pk)}
    operator.send("/admin/keys/organization/", action="suspend", **chosen)
    assert api.get("/api/forms", tenant.key).status == 403
    assert change(operator, tenant, suspended_reason="Unpaid").status == 302
    assert Organization.objects.get(pk=tenant.organization.pk).suspended_reason == "Unpaid"
    operator.send("/admin/keys/organization/", action="resume", **chosen)
    assert api.get("/api/forms", tenant.key).status == 200
    assert trail(tenant, "organization.suspended") == [(person.email, ""), (person.email, "Unpaid")]
    assert trail(tenant, "organization.resumed") == [(person.email, "")]


def test_operator__makes_an_account_and_an_organization(operator: Browser) -> None:
    email = f"made-{secrets.token_hex(6)}@example.com"
    assert operator.send("/admin/keys/user/add/", email=email.upper(), name="Grace", is_active="on").status == 302
    person = User.objects.get(email=email)
    assert (person.name, person.is_staff, person.has_usable_password()) == ("Grace", False, False)
    assert AuditEvent.objects.get(action="operator.account_created", subject=email).user is not None
    again = operator.send("/admin/keys/user/add/", email=email, name="Grace", is_active="on")
    assert (again.status, "already exists" in again.text) == (200, True)

    name, unknown = f"Made {secrets.token_hex(6)}", f"owner-{secrets.token_hex(6)}@example.com"
    add = "/admin/keys/organization/add/"
    page = operator.get(add).text
    assert '<option value="free" selected>' in page
    assert "www.example.com" in operator.send(add, name="see www.example.com", owner=unknown, plan="pro").text
    assert not User.objects.filter(email=unknown).exists()
    assert operator.send(add, name=name, owner=unknown, plan="pro").status == 302
    made = Organization.objects.get(name=name)
    assert (made.plan, made.memberships.get().user.email, made.forms.get().name) == ("pro", unknown, "Inbox")
    created = AuditEvent.objects.get(organization=made, action="organization.created")
    assert created.user is not None
