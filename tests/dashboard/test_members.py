"""The people of an organization: who sees and may do what, and that somebody always owns it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from config.api.errors import Conflict
from keys.members import change_role
from keys.models import AuditEvent, Membership, Role, User
from tests.services.client import Answer, Client
from tests.support.browser import Browser, logged_in, member_of, person_of, place, text_of
from tests.support.tenants import Tenant, make_tenant

OWNERLESS = "An organization needs an owner"


def membership(tenant: Tenant, user: User) -> Membership:
    return Membership.objects.get(organization=tenant.organization, user=user)


def is_member(tenant: Tenant, user: User) -> bool:
    return Membership.objects.filter(organization=tenant.organization, user=user).exists()


def give_role(browser: Browser, tenant: Tenant, user: User, role: str) -> Answer:
    members = place(tenant, "members")
    return browser.post(f"{members}/{membership(tenant, user).pk}/role", form=members, role=role)


def remove(browser: Browser, tenant: Tenant, user: User) -> Answer:
    return browser.send(f"{place(tenant, 'members')}/{membership(tenant, user).pk}/remove")


def trail(tenant: Tenant) -> list[tuple[str, str]]:
    rows = AuditEvent.objects.filter(organization=tenant.organization, action__startswith="member.")
    return list(rows.order_by("pk").values_list("action", "subject"))


@pytest.mark.on_sqlite
def test_members__for_a_member__is_a_list_without_controls(api: Client) -> None:
    tenant = make_tenant()
    admin, member = member_of(tenant.organization, "admin"), member_of(tenant.organization, "member")
    page = logged_in(api, member).get(place(tenant, "members"))
    for person in (tenant.owner, admin, member):
        assert person.email in page.text
    for control in ("<select", "/remove", "Invite a member", "Send again"):
        assert control not in page.text
    assert "Leave…" in page.text


def test_role__changed_by_an_admin__holds_from_the_next_click(api: Client) -> None:
    tenant = make_tenant()
    admin, member = member_of(tenant.organization, "admin"), member_of(tenant.organization, "member")
    theirs = logged_in(api, member)
    assert theirs.get(place(tenant, "keys")).status == 403
    page = logged_in(api, admin)
    assert f"{member.email} is now admin." in text_of(page.follow(give_role(page, tenant, member, "admin")))
    assert theirs.get(place(tenant, "keys")).status == 200
    give_role(page, tenant, member, "member")
    assert theirs.get(place(tenant, "keys")).status == 403
    now_admin, now_member = f"{member.email} is now admin", f"{member.email} is now member"
    assert trail(tenant) == [("member.role_changed", now_admin), ("member.role_changed", now_member)]


def test_role__admin_reaching_for_owners__is_refused(api: Client) -> None:
    tenant = make_tenant()
    admin, member = member_of(tenant.organization, "admin"), member_of(tenant.organization, "member")
    browser = logged_in(api, admin)
    page = browser.get(place(tenant, "members")).text
    assert f"role-{membership(tenant, tenant.owner).pk}" not in page
    assert 'value="owner"' not in page
    for user, role in ((member, "owner"), (admin, "owner"), (tenant.owner, "member")):
        before = membership(tenant, user).role
        assert "Only an owner can" in text_of(browser.follow(give_role(browser, tenant, user, role)))
        assert membership(tenant, user).role == before
    assert "Only an owner can remove an owner" in text_of(browser.follow(remove(browser, tenant, tenant.owner)))
    assert is_member(tenant, tenant.owner)


def test_role__last_owner_stepping_down__is_refused_until_there_is_another(api: Client) -> None:
    tenant = make_tenant()
    owner, member = person_of(tenant), member_of(tenant.organization, "member")
    browser = logged_in(api, owner)
    assert OWNERLESS in text_of(browser.follow(give_role(browser, tenant, owner, "admin")))
    assert membership(tenant, owner).role == "owner"
    give_role(browser, tenant, member, "owner")
    give_role(browser, tenant, owner, "admin")
    assert (membership(tenant, owner).role, membership(tenant, member).role) == ("admin", "owner")


def test_role__two_owners_stepping_down_at_once__leave_one(api: Client) -> None:
    tenant = make_tenant()
    people = [person_of(tenant), member_of(tenant.organization, "owner")]

    # Here, as each thread would open its own connection to the database.
    browsers = [logged_in(api, user) for user in people]
    rows = [membership(tenant, user).pk for user in people]
    members = place(tenant, "members")

    def step_down(browser: Browser, row: object) -> bool:
        answer = browser.post(f"{members}/{row}/role", form=members, role="member")
        return OWNERLESS in text_of(browser.follow(answer))

    with ThreadPoolExecutor(2) as pool:
        refused = list(pool.map(step_down, browsers, rows))
    assert sorted(refused) == [False, True]
    assert Membership.objects.filter(organization=tenant.organization, role="owner").count() == 1


@pytest.mark.on_sqlite
@pytest.mark.parametrize("role", ["", "king", "Owner"])
def test_role__that_does_not_exist__is_refused(api: Client, role: str) -> None:
    tenant = make_tenant()
    member = member_of(tenant.organization, "member")
    assert give_role(logged_in(api, person_of(tenant)), tenant, member, role).status == 404
    assert membership(tenant, member).role == "member"


def test_member__of_another_organization__cannot_be_reached(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    foreign = membership(other, other.owner)
    browser, members = logged_in(api, person_of(tenant)), place(tenant, "members")
    assert browser.post(f"{members}/{foreign.pk}/role", form=members, role="member").status == 404
    assert browser.post(f"{members}/{foreign.pk}/remove", form=members).status == 404
    assert membership(other, other.owner).role == "owner"


def test_member__removed__loses_everything_at_the_next_click(api: Client) -> None:
    tenant = make_tenant()
    member = member_of(tenant.organization, "member")
    theirs, browser = logged_in(api, member), logged_in(api, person_of(tenant))
    assert theirs.get(place(tenant)).status == 200
    asked = browser.get(f"{place(tenant, 'members')}/{membership(tenant, member).pk}/remove")
    assert member.email in asked.text
    assert is_member(tenant, member)  # looking at the question removes nobody
    remove(browser, tenant, member)
    assert theirs.get(place(tenant)).status == 404
    assert trail(tenant) == [("member.removed", member.email)]


def test_member__leaving__is_asked_first_and_can_still_log_in(api: Client) -> None:
    tenant = make_tenant()
    member = member_of(tenant.organization, "member")
    browser, leave = logged_in(api, member), place(tenant, "members/leave")
    assert browser.get(leave).status == 200
    assert is_member(tenant, member)
    left = browser.send(leave)
    assert left.headers["Location"] == "/dashboard/"
    assert not is_member(tenant, member)
    assert browser.get(place(tenant)).status == 404
    assert browser.get("/dashboard/").headers["Location"] == "/dashboard/organizations/new"
    assert trail(tenant) == [("member.left", member.email)]


def test_member__last_owner_leaving__is_told_what_to_do(api: Client) -> None:
    tenant = make_tenant()
    owner = person_of(tenant)
    browser = logged_in(api, owner)
    answer = browser.follow(browser.send(place(tenant, "members/leave")))
    assert "Make another member an owner first" in text_of(answer)
    assert is_member(tenant, owner)


@pytest.mark.usefixtures("service")
def test_role__actor_who_was_removed_meanwhile__changes_nothing() -> None:
    tenant = make_tenant()
    admin, member = member_of(tenant.organization, "admin"), member_of(tenant.organization, "member")
    row = membership(tenant, member)
    membership(tenant, admin).delete()
    with pytest.raises(Conflict):
        change_role(row, Role.ADMIN, by=admin)
    assert membership(tenant, member).role == "member"
