"""The audit trail: users and their actions, even after they are deleted; only for admins and owners."""

import csv
import datetime as dt
import json
from urllib.parse import urlsplit

import pytest

from config.base.times import now
from forms_app.consent.recipients import stop_url
from keys.audit import record_event
from keys.models import AuditEvent, Membership, User
from tests.services.client import Client
from tests.support.accounts import log_in, with_authenticator_app
from tests.support.browser import Browser, logged_in, member_of, person_of, place, text_of
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
    assert f"left {member.email}" not in told


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


@pytest.mark.on_sqlite
def test_trail__hostile_subject_and_unknown_action__are_text(api: Client) -> None:
    tenant = make_tenant()
    record_event(organization=tenant.organization, by=None, action="new.action", subject="<script>alert(1)</script>")
    page = logged_in(api, person_of(tenant)).get(place(tenant, "audit"))
    assert "new.action <script>alert(1)</script>" in text_of(page)
    assert "<script>alert" not in page.text


@pytest.mark.on_sqlite
def test_trail__for_a_member__is_refused(api: Client) -> None:
    tenant = make_tenant()
    member = logged_in(api, member_of(tenant.organization, "member"))
    assert member.get(place(tenant, "audit")).status == 403


def test_trail__changed_setting__is_shown_with_old_and_new_value_and_address(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(name="Contact", allowed_origins=["https://old.example"])
    browser = logged_in(api, person_of(tenant))
    origins = {"allowedOrigins": ["https://new.example"]}
    api.request("PATCH", f"/api/forms/{form_id}", tenant.key, json=origins)
    browser.send(place(tenant, f"forms/{form_id}/spam"), minimum_seconds="7", blocked_words="casino")
    event = AuditEvent.objects.get(organization=tenant.organization, action="form.changed")
    told = text_of(browser.get(place(tenant, "audit")))
    assert event.changes == {"allowedOrigins": [["https://old.example"], ["https://new.example"]]}
    assert (event.access_key is not None, event.address) == (True, api.address)
    assert "spam.minSeconds: 2 → 7" in told
    assert told.count(api.address) == 2


def test_trail__captcha_secret__is_never_in_it(api: Client) -> None:
    tenant = make_tenant()
    path = place(tenant, f"forms/{tenant.form()}/spam")
    browser = logged_in(api, person_of(tenant))
    values = {"minimum_seconds": "2", "captcha": "turnstile", "captcha_site_key": "site"}
    browser.send(path, captcha_secret="hushhush-1", **values)
    browser.send(path, captcha_secret="hushhush-2", **values)
    events = AuditEvent.objects.filter(organization=tenant.organization, action="form.spam_protection_changed")
    secret = [(event.changes or {})["spam.secret"] for event in events.order_by("pk")]
    assert secret == [[None, "(secret)"], ["(secret)", "(another secret)"]]
    assert "hushhush" not in browser.get(place(tenant, "audit")).text


def test_trail__logins_of_members__are_shown_since_they_joined(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    member = member_of(tenant.organization, "member")
    log_in(Browser(api), member)
    log_in(Browser(api), member, password="not this one")
    log_in(Browser(api), person_of(other))
    owner = logged_in(api, person_of(tenant))
    told = text_of(owner.get(place(tenant, "audit?kind=account")))
    assert f"{member.email} logged in" in told
    assert f"{member.email} could not log in wrong password" in told
    assert other.owner.email not in told
    Membership.objects.filter(user=member).update(created_at=now() + dt.timedelta(minutes=1))
    assert f"{member.email} logged in" not in text_of(owner.get(place(tenant, "audit")))


def test_trail__failed_logins_of_one_account__are_recorded_ten_times_an_hour(api: Client) -> None:
    member = member_of(make_tenant().organization, "member")
    failed = AuditEvent.objects.filter(user=member, action="account.login_failed")
    for _ in range(9):
        record_event(organization=None, by=member, action="account.login_failed", subject="")
    log_in(Browser(api), member, password="not this one")
    log_in(Browser(api), member, password="not this one")
    assert failed.count() == 10


def test_trail__filters__narrow_by_day_person_and_kind(api: Client) -> None:
    tenant = make_tenant()
    admin = member_of(tenant.organization, "admin")
    record_event(organization=tenant.organization, by=admin, action="key.revoked", subject="Of an admin")
    record_event(organization=tenant.organization, by=None, action="form.erased", subject="Of an operator")
    browser, audit = logged_in(api, person_of(tenant)), place(tenant, "audit")
    old = AuditEvent.objects.filter(subject="Of an admin", organization=tenant.organization)
    old.update(created_at=dt.datetime(2026, 1, 31, 23, 59, tzinfo=dt.UTC))
    shown = {
        "from=2026-01-31&to=2026-01-31": (True, False),
        "from=2026-02-01": (False, True),
        "to=2026-01-30": (False, False),
        f"actor={admin.email}": (True, False),
        "actor=operator": (False, True),
        "kind=key": (True, False),
        "kind=form": (False, True),
        "kind=nonsense&from=x&actor=nobody": (True, True),
    }
    for query, expected in shown.items():
        told = text_of(browser.get(f"{audit}?{query}"))
        assert (query, "Of an admin" in told, "Of an operator" in told) == (query, *expected)


def test_trail__as_csv__has_every_column_and_no_formula(api: Client) -> None:
    tenant = make_tenant()
    found = {"name": ["a", "b"]}
    record_event(organization=tenant.organization, by=None, action="key.created", subject="=1+1", changes=found)
    browser = logged_in(api, person_of(tenant))
    answer = browser.post(place(tenant, "audit/export"), form=place(tenant, "audit"), format="csv", kind="key")
    rows = list(csv.DictReader(answer.body.decode("utf-8-sig").splitlines()))
    assert list(rows[0]) == ["createdAt", "actor", "actorKind", "action", "kind", "subject", "changes", "address"]
    assert {row["kind"] for row in rows} == {"key"}
    assert (rows[-1]["subject"], json.loads(rows[-1]["changes"]), rows[-1]["actorKind"]) == ("'=1+1", found, "operator")
    assert f'filename="{tenant.organization.slug}-audit-' in answer.headers["Content-Disposition"]
    exported = AuditEvent.objects.get(organization=tenant.organization, action="trail.exported")
    assert (exported.subject, exported.changes, exported.user) == ("csv", {"kind": [None, "key"]}, tenant.owner)


def test_trail__as_ndjson__is_one_record_a_line_of_this_organization(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    record_event(organization=other.organization, by=None, action="key.created", subject="foreign")
    api.get("/api/submissions/export?format=csv&spam=all&q=somebody", tenant.key)
    browser = logged_in(api, person_of(tenant))
    answer = browser.post(place(tenant, "audit/export"), form=place(tenant, "audit"), format="ndjson")
    records = [json.loads(line) for line in answer.text.splitlines()]
    (exported,) = [record for record in records if record["action"] == "submissions.exported"]
    assert (exported["actorKind"], exported["address"]) == ("key", api.address)
    assert exported["changes"] == {"spam": [None, "all"]}  # a searched text is not kept
    assert "foreign" not in answer.text
    others = [record for record in records if record["action"] != "trail.exported"]  # may be in time
    kept = AuditEvent.objects.filter(organization=tenant.organization).exclude(action="trail.exported")
    assert len(others) == kept.count()


def test_account_page__shows_its_own_logins_and_no_others(api: Client) -> None:
    tenant = make_tenant()
    person, other = person_of(tenant), member_of(tenant.organization, "admin")
    log_in(Browser(api), person)
    record_event(organization=None, by=other, action="account.password_changed", subject="")
    record_event(organization=tenant.organization, by=person, action="key.created", subject="A key")
    told = text_of(logged_in(api, person).get("/dashboard/account"))
    assert "Logged in" in told
    assert api.address in told
    assert "Changed the password" not in told
    assert "Generated the key" not in told


def test_trail__of_a_deleted_organization__stays_for_operators(api: Client) -> None:
    tenant = make_tenant()
    pk, name = tenant.organization.pk, tenant.organization.name
    owner, slug = person_of(tenant), tenant.organization.slug
    browser = logged_in(api, owner)
    browser.send(place(tenant, "organization/end"), typed=name)
    kept = AuditEvent.objects.filter(organization_ref=pk, organization=None)
    assert kept.filter(action="organization.deleted", user=owner, organization_slug=slug).count() == 1
    assert kept.filter(action="organization.created", organization_name=name).exists()
    operator = User.objects.create_superuser(f"operator-{slug}@example.com")
    with_authenticator_app(operator)
    listed = text_of(logged_in(api, operator).get(f"/admin/keys/auditevent/?q={slug}"))
    assert "organization.deleted" in listed
    assert "organization.deleted" not in text_of(browser.get("/dashboard/account"))


def test_trail__recipient_who_confirms_and_stops__is_a_visitor_in_it(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(name="Contact", notification_recipients=["guest@example.com"])
    path = urlsplit(stop_url(form_id, "guest@example.com")).path
    api.post(path)
    event = AuditEvent.objects.get(organization=tenant.organization, action="form.recipient_stopped")
    assert (event.actor, event.subject, event.address) == ("A visitor", "Contact: guest@example.com", api.address)
    told = text_of(logged_in(api, person_of(tenant)).get(place(tenant, "audit")))
    assert "A visitor stopped the mails of Contact: guest@example.com" in told
