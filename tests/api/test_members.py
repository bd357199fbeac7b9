"""Members, roles, invitations by mail, leaving, ending an organization, deleting an account."""

import re
import secrets

import pytest

from forms_app.organizations import create_organization
from keys.models import AuditEvent, Invitation, Membership, Organization, User
from tests.api.arrange import Tenant, make_tenant
from tests.api.browsing import LOGIN, PASSWORD, Browser, logged_in, member_of, person_of, place, text_of, with_password
from tests.api.submission_rows import put
from tests.api.test_people import SIGN_UP, code_for
from tests.services.client import Client
from tests.services.receivers import MailReceiver

LINK = re.compile(r"https?://\S+(/dashboard/invitations/\S+)")


def invite(api: Client, smtp: MailReceiver, tenant: Tenant, email: str, role: str = "member") -> str:
    """Invite somebody from the members' page, and return the path of the mailed link."""
    browser = logged_in(api, person_of(tenant))
    answer = browser.send(place(tenant, "members"), email=email, role=role)
    assert answer.status == 302, text_of(answer)
    mail = smtp.wait_for(email)[-1].message.get_body(("plain",))
    assert mail is not None
    found = LINK.search(mail.get_content())
    assert found
    return found[1]


def membership(tenant: Tenant, user: User) -> Membership:
    return Membership.objects.get(organization=tenant.organization, user=user)


def test_invitation__of_a_new_person__joins_after_signing_up_and_makes_no_organization(
    api: Client, smtp: MailReceiver
) -> None:
    tenant, email = make_tenant(), f"{secrets.token_hex(8)}@example.com"
    path = invite(api, smtp, tenant, email, "admin")
    browser = Browser(api)
    page = browser.get(path)
    assert "Create an account" in page.text
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert 'name="organization"' not in browser.get(SIGN_UP).text
    other = browser.send(SIGN_UP, email="other@example.com", password1=PASSWORD)
    assert "The invitation is for" in text_of(other)
    confirm = browser.send(SIGN_UP, email=email, password1=PASSWORD).headers["Location"]
    answer = browser.send(confirm, code=code_for(smtp, email))
    assert answer.headers["Location"] == path
    joined = browser.send(path)
    assert joined.headers["Location"] == place(tenant)
    user = User.objects.get(email=email)
    assert list(user.memberships.values_list("organization", "role")) == [(tenant.organization.pk, "admin")]
    assert browser.get(path).status == 404, "a link works once"


def test_invitation__of_a_known_person__joins_after_logging_in(api: Client, smtp: MailReceiver) -> None:
    tenant, guest = make_tenant(), person_of(make_tenant())
    path = invite(api, smtp, tenant, guest.email.upper())
    browser = Browser(api)
    assert "Log in as" in browser.get(path).text
    answer = browser.send(LOGIN, login=guest.email, password=PASSWORD)
    assert answer.headers["Location"] == path
    assert browser.send(path).headers["Location"] == place(tenant)
    assert membership(tenant, guest).role == "member"


def test_invitation__in_the_wrong_hands__is_refused(api: Client, smtp: MailReceiver) -> None:
    tenant, somebody = make_tenant(), person_of(make_tenant())
    path = invite(api, smtp, tenant, f"{secrets.token_hex(8)}@example.com")
    browser = logged_in(api, somebody)
    assert "The invitation is for" in text_of(browser.get(path))
    answer = browser.post(path, form=path)
    assert answer.headers["Location"] == path
    assert not Membership.objects.filter(organization=tenant.organization, user=somebody).exists()


@pytest.mark.parametrize("how", ["taken back", "sent again", "old", "invented"])
def test_invitation__that_is_over__leads_nowhere(api: Client, smtp: MailReceiver, how: str) -> None:
    tenant, email = make_tenant(), f"{secrets.token_hex(8)}@example.com"
    path = invite(api, smtp, tenant, email)
    invitation = Invitation.objects.get(organization=tenant.organization)
    browser = logged_in(api, tenant.owner)
    members = place(tenant, "members")
    if how == "taken back":
        browser.post(f"{members}/invitations/{invitation.pk}/take-back", form=members)
    elif how == "sent again":
        browser.post(f"{members}/invitations/{invitation.pk}/resend", form=members)
    elif how == "old":
        Invitation.objects.filter(pk=invitation.pk).update(expires_at=invitation.created_at)
    else:
        path = "/dashboard/invitations/invented"
    assert Browser(api).get(path).status == 404


def test_invite__fifty_first_or_a_member_or_nonsense__is_refused_with_words(api: Client) -> None:
    tenant = make_tenant()
    browser, members = logged_in(api, person_of(tenant)), place(tenant, "members")
    assert "is a member already" in text_of(browser.send(members, email=tenant.owner.email, role="member"))
    assert browser.send(members, email="nonsense", role="member").status == 400
    Invitation.objects.bulk_create(
        Invitation(
            organization=tenant.organization,
            email=f"{number}@example.com",
            digest=secrets.token_hex(32),
            expires_at="2099-01-01T00:00Z",
        )
        for number in range(50)
    )
    assert "At most 50 invitations" in text_of(browser.send(members, email="one@more.example", role="member"))


def test_roles__admins__cannot_reach_for_owners(api: Client) -> None:
    tenant = make_tenant()
    admin = logged_in(api, member_of(tenant.organization, "admin"))
    owner, members = membership(tenant, tenant.owner), place(tenant, "members")
    admin.post(f"{members}/{owner.pk}/role", form=members, role="member")
    admin.post(f"{members}/{owner.pk}/remove", form=members)
    member = membership(tenant, member_of(tenant.organization, "member"))
    admin.post(f"{members}/{member.pk}/role", form=members, role="owner")
    refused = admin.send(members, email="new@example.com", role="owner")
    assert refused.status == 400
    assert membership(tenant, tenant.owner).role == "owner"
    assert Membership.objects.get(pk=member.pk).role == "member"
    assert not Invitation.objects.filter(organization=tenant.organization).exists()


def test_roles__last_owner__can_neither_step_down_nor_leave(api: Client) -> None:
    tenant = make_tenant()
    member_of(tenant.organization, "admin")
    owner, members = logged_in(api, person_of(tenant)), place(tenant, "members")
    row = membership(tenant, tenant.owner)
    page = owner.follow(owner.post(f"{members}/{row.pk}/role", form=members, role="member"))
    assert "needs an owner" in text_of(page)
    page = owner.follow(owner.send(f"{members}/leave"))
    assert "needs an owner" in text_of(page)
    assert membership(tenant, tenant.owner).role == "owner"


def test_member__removed_or_gone__is_outside_from_the_next_click(api: Client) -> None:
    tenant = make_tenant()
    removed, leaver = member_of(tenant.organization, "member"), member_of(tenant.organization, "member")
    owner, members = logged_in(api, person_of(tenant)), place(tenant, "members")
    theirs = logged_in(api, removed)
    assert theirs.get(place(tenant)).status == 200
    owner.send(f"{members}/{membership(tenant, removed).pk}/remove")
    assert theirs.get(place(tenant)).status == 404
    leaving = logged_in(api, leaver)
    leaving.send(f"{members}/leave")
    assert leaving.get(place(tenant)).status == 404
    actions = AuditEvent.objects.filter(organization=tenant.organization).values_list("action", flat=True)
    assert {"member.removed", "member.left"} <= set(actions)


def test_organization__another_one__is_made_switched_to_and_renamed(api: Client) -> None:
    tenant = make_tenant()
    browser = logged_in(api, person_of(tenant))
    name = f"Second {secrets.token_hex(4)}"
    home = browser.send("/dashboard/organizations/new", name=name).headers["Location"]
    assert name in browser.get(home).text
    assert browser.get("/dashboard/").headers["Location"] == home, "the one looked at last"
    assert browser.get(place(tenant)).status == 200
    assert browser.get("/dashboard/").headers["Location"] == place(tenant)
    browser.send(f"{home}organization", name="Renamed <b>")
    assert "Renamed &lt;b&gt;" in browser.get(home).text


def test_organization__ended__takes_everything_with_it_after_its_name_was_typed(api: Client) -> None:
    tenant = make_tenant()
    put(tenant, tenant.form(), {"message": "gone"})
    browser, end = logged_in(api, person_of(tenant)), place(tenant, "organization/end")
    assert browser.send(end, typed="something else").status == 400
    assert browser.send(end, typed=tenant.organization.name).status == 302
    assert not Organization.objects.filter(pk=tenant.organization.pk).exists()
    assert api.get("/api/forms", tenant.key).status == 401


def reauthenticated(api: Client, user: User) -> Browser:
    browser = Browser(api)
    assert browser.send(LOGIN, login=with_password(user).email, password=PASSWORD).status == 302
    return browser


def test_account__deleted__goes_with_the_organizations_that_are_its_alone(api: Client) -> None:
    tenant, shared = make_tenant(), make_tenant()
    user = tenant.owner
    Membership.objects.create(organization=shared.organization, user=user, role="member")
    browser = reauthenticated(api, user)
    page = text_of(browser.get("/dashboard/account/delete"))
    assert tenant.organization.name in page
    assert shared.organization.name not in page
    assert browser.send("/dashboard/account/delete", typed="somebody@else.example").status == 400
    assert browser.send("/dashboard/account/delete", typed=user.email).status == 302
    assert not User.objects.filter(pk=user.pk).exists()
    assert not Organization.objects.filter(pk=tenant.organization.pk).exists()
    assert Organization.objects.filter(pk=shared.organization.pk).exists()


def test_account__only_owner_of_others__is_kept_until_somebody_else_owns(api: Client) -> None:
    owner = with_password(User.objects.create_user(f"{secrets.token_hex(8)}@example.com"))
    organization = create_organization(name=f"Shared {secrets.token_hex(6)}", owner=owner)
    member_of(organization, "admin")
    browser = reauthenticated(api, owner)
    assert "only owner of" in text_of(browser.get("/dashboard/account/delete"))
    browser.post("/dashboard/account/delete", form="/dashboard/account", typed=owner.email)
    assert User.objects.filter(pk=owner.pk).exists()


def test_account__deleting_with_an_old_login__asks_for_the_password_first(api: Client) -> None:
    browser = logged_in(api, person_of(make_tenant()))
    answer = browser.get("/dashboard/account/delete")
    assert answer.headers["Location"].startswith("/account/reauthenticate/")


def test_audit_trail__tells_who_did_what__never_a_secret(api: Client) -> None:
    tenant = make_tenant()
    browser = logged_in(api, person_of(tenant))
    answer = browser.send(place(tenant, "members"), email="new@example.com", role="member")
    assert answer.status == 302
    api.get("/api/submissions/export?format=csv", tenant.key)
    page = browser.get(place(tenant, "audit"))
    assert f"{tenant.owner.email} invited new@example.com as member" in text_of(page)
    assert "exported submissions as csv" in text_of(page)
    assert tenant.key not in page.text
