"""The audit trail: users and their actions, even after they are deleted; only for admins and owners."""

from keys.audit import record_event
from keys.models import AuditEvent
from tests.services.client import Client
from tests.support.browser import logged_in, member_of, person_of, place, text_of
from tests.support.tenants import make_tenant


def test_trail__what_people_keys_and_commands_did__is_told_newest_first(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    admin = member_of(tenant.organization, "admin")
    browser = logged_in(api, admin)
    browser.send(place(tenant, "members"), email="guest@example.com", role="member")
    api.post("/api/keys", tenant.key, json={"name": "By a key"})
    api.get("/api/submissions/export?format=csv", tenant.key)
    record_event(organization=other.organization, by=None, action="key.created", subject="foreign")
    page = browser.get(place(tenant, "audit"))
    told = text_of(page)
    by_person = f"{admin.email} invited guest@example.com as member"
    by_command = f"The operator created the organization {tenant.organization.name}"
    assert "The key Administrative (fp_" in told
    assert "exported submissions as csv" in told
    assert told.index("generated the key By a key") < told.index(by_person) < told.index(by_command)
    assert "foreign" not in told
    assert tenant.key not in page.text


def test_trail__person_who_is_gone__is_still_named(api: Client) -> None:
    tenant = make_tenant()
    admin = member_of(tenant.organization, "admin")
    email = admin.email
    record_event(organization=tenant.organization, by=admin, action="key.revoked", subject="Old key")
    admin.delete()
    assert f"{email} revoked the key Old key" in text_of(logged_in(api, person_of(tenant)).get(place(tenant, "audit")))


def test_trail__joining_and_leaving__name_the_person_once(api: Client) -> None:
    tenant = make_tenant()
    member = member_of(tenant.organization, "member")
    logged_in(api, member).send(place(tenant, "members/leave"))
    told = text_of(logged_in(api, person_of(tenant)).get(place(tenant, "audit")))
    assert f"{member.email} left" in told
    assert told.count(member.email) == 1


def test_trail__fifty_a_page__and_whatever_is_asked_for_is_a_page(api: Client) -> None:
    tenant = make_tenant()
    there = AuditEvent.objects.filter(organization=tenant.organization).count()
    for number in range(101 - there):
        record_event(organization=tenant.organization, by=None, action="key.created", subject=f"number-{number}.")
    browser, audit = logged_in(api, person_of(tenant)), place(tenant, "audit")
    pages = {page: browser.get(f"{audit}?page={page}") for page in ("1", "2", "3", "4", "-1", "x")}
    assert [answer.text.count("<time") for answer in pages.values()] == [50, 50, 1, 1, 1, 50]
    assert f"number-{100 - there}." in pages["1"].text
    assert "101 · page 3 of 3" in text_of(pages["3"])


def test_trail__hostile_subject_and_unknown_action__are_text(api: Client) -> None:
    tenant = make_tenant()
    record_event(organization=tenant.organization, by=None, action="new.action", subject="<script>alert(1)</script>")
    page = logged_in(api, person_of(tenant)).get(place(tenant, "audit"))
    assert "new.action <script>alert(1)</script>" in text_of(page)
    assert "<script>alert" not in page.text


def test_trail__for_a_member__is_refused(api: Client) -> None:
    tenant = make_tenant()
    member = logged_in(api, member_of(tenant.organization, "member"))
    assert member.get(place(tenant, "audit")).status == 403
