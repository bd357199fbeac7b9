"""Usage of an organization by day, and deleting one of any size: what operators see and do (docs/contract.md 8.20)."""

import json
import secrets
from typing import Any

import pytest
from django.db.models import F

from config.base.times import now
from keys.models import Organization, User
from keys.plans import Plan
from keys.suspension import request_deletion, resume_organization
from submissions.lifecycle.closing import DELETION_DELAY, finish_all_deleting
from submissions.models import Submission, UsageDay
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import MailReceiver
from tests.services.waiting import eventually
from tests.support.accounts import with_authenticator_app
from tests.support.browser import logged_in, text_of, with_password
from tests.support.command_line import complaint, output
from tests.support.submitting import submit, submit_and_get_id
from tests.support.tenants import Tenant, make_tenant


def usage(service: Application, tenant: Tenant) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(output(service, "organization_usage", tenant.organization.slug, "--json"))
    return found


def lines_of(lines: list[str], slug: str) -> list[str]:
    return [line for line in lines if line.startswith(f"{slug},")]


def test_usage__of_a_day__counts_submissions_mails_and_refusals_even_after_deleting(
    api: Client, service: Application, smtp: MailReceiver
) -> None:
    tenant = make_tenant()
    address = f"{tenant.organization.slug}@example.net"
    form_id = tenant.form(notification_recipients=[address])
    first, second = (submit_and_get_id(api, tenant, form_id) for _ in range(2))
    smtp.wait_for(address, 2)
    assert submit(api, tenant.key, form_id, {"_next": "/"}).status == 400
    day = UsageDay.objects.filter(organization=tenant.organization)
    eventually(lambda: day.filter(submissions=2, mails=2, refusals=1).exists())
    for one in (first, second):
        api.delete(f"/api/submissions/{one}", tenant.key)
    days = usage(service, tenant)
    assert len(days) == 30
    wanted = {"day": now().date().isoformat(), "submissions": 2, "mails": 2, "refusals": 1, "storedBytes": 0}
    assert (days[-1], days[0]["submissions"]) == (wanted, 0)


def test_usage__bytes_of_days_without_a_change__are_those_of_the_last_change(service: Application) -> None:
    tenant = make_tenant()
    today = now().date()
    for ago, stored in ((40, 100), (10, 700)):
        day = today.fromordinal(today.toordinal() - ago)
        UsageDay.objects.create(organization=tenant.organization, day=day, submissions=ago, stored_bytes=stored)
    days = usage(service, tenant)
    assert [days[at]["storedBytes"] for at in (0, 18, 19, 29)] == [100, 100, 700, 700]
    assert sum(day["submissions"] for day in days) == 10
    table = output(service, "organization_usage", tenant.organization.slug).splitlines()
    assert (len(table), table[-1].split()) == (31, [today.isoformat(), "0", "0", "0", "700"])
    assert "nobody" in complaint(service, "organization_usage", "nobody")


def test_usage__of_all_organizations__is_csv_with_their_plans(service: Application) -> None:
    first, second = make_tenant(plan=Plan.FREE), make_tenant()
    today = now().date()
    days = [today.fromordinal(today.toordinal() - ago).isoformat() for ago in (1, 0)]
    UsageDay.objects.create(organization=first.organization, day=today, submissions=7, mails=3, stored_bytes=90)
    lines = output(service, "organization_usage", "--all", "--csv", "--days", "2").splitlines()
    assert lines[0] == "organization,plan,day,submissions,mails,refusals,storedBytes"
    slugs = [tenant.organization.slug for tenant in (first, second)]
    assert lines_of(lines, slugs[0]) == [
        f"{slugs[0]},free,{days[0]},0,0,0,",
        f"{slugs[0]},free,{days[1]},7,3,0,90",
    ]
    assert lines_of(lines, slugs[1]) == [f"{slugs[1]},enterprise,{day},0,0,0,0" for day in days]
    assert output(service, "organization_usage", slugs[0], "--csv").splitlines()[-1] == lines_of(lines, slugs[0])[-1]


@pytest.mark.on_sqlite
def test_usage__of_wrong_arguments__says_what_to_give(service: Application) -> None:
    assert "Name an organization" in complaint(service, "organization_usage")
    assert "Name an organization" in complaint(service, "organization_usage", "some", "--all")
    assert "add --csv" in complaint(service, "organization_usage", "--all")
    assert "1 to 90 days" in complaint(service, "organization_usage", "--all", "--csv", "--days", "91")


def test_usage__in_the_admin__is_listed_and_read_only(api: Client) -> None:
    tenant = make_tenant()
    UsageDay.objects.create(organization=tenant.organization, day=now().date(), submissions=4_711)
    operator = with_password(User.objects.create_superuser(f"operator-{secrets.token_hex(6)}@example.com"))
    with_authenticator_app(operator)
    browser = logged_in(api, operator)
    listed = browser.get(f"/admin/submissions/usageday/?q={tenant.organization.slug}")
    assert (listed.status, "4711" in text_of(listed)) == (200, True)
    assert browser.get("/admin/submissions/usageday/add/").status == 403
    page = browser.get(f"/admin/keys/organization/{tenant.organization.pk}/change/")
    assert f"/admin/submissions/usageday/?q={tenant.organization.slug}" in page.text


def test_delete_organization__by_command__needs_yes_and_leaves_nothing(api: Client, service: Application) -> None:
    tenant = make_tenant()
    submit_and_get_id(api, tenant)
    slug = tenant.organization.slug
    assert "1 submissions permanently. Add --yes" in complaint(service, "delete_organization", slug)
    assert Organization.objects.filter(slug=slug).exists()
    output(service, "delete_organization", slug, "--yes")
    assert not Organization.objects.filter(slug=slug).exists()
    assert not Submission.objects.filter(organization=tenant.organization.pk).exists()
    assert api.get("/api/forms", tenant.key).status == 401


def test_delete_organization__requested_by_an_operator__waits_an_hour_and_can_be_canceled(api: Client) -> None:
    kept, deleted = make_tenant(), make_tenant()
    for tenant in (kept, deleted):
        request_deletion(tenant.organization, by=None)
        assert api.get("/api/forms", tenant.key).status == 403
    finish_all_deleting()
    resume_organization(kept.organization, by=None)
    ids = [kept.organization.pk, deleted.organization.pk]
    rows = Organization.objects.filter(pk__in=ids)
    assert rows.count() == 2
    rows.update(deletion_requested_at=F("deletion_requested_at") - DELETION_DELAY)
    finish_all_deleting()
    assert [row.pk for row in rows.all()] == [kept.organization.pk]
    assert api.get("/api/forms", kept.key).status == 200


@pytest.mark.on_sqlite
def test_delete_organization__unknown_slug__is_an_error(service: Application) -> None:
    assert "nobody" in complaint(service, "delete_organization", "nobody", "--yes")
