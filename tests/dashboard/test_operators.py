"""The operators' overview: the whole service in figures, only for staff, without the values of submissions."""

import datetime as dt
import re
import secrets

import pytest

from config.base.times import now
from forms_app.models import FormReport
from keys.models import Organization, User
from submissions.counts.usage import today
from submissions.models import Refusal, UsageDay
from tests.services.client import Client
from tests.support.accounts import with_authenticator_app
from tests.support.browser import Browser, logged_in, person_of, text_of, with_password
from tests.support.deliveries import make_delivery
from tests.support.rows import put
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant
from webhooks.models import Attempt

FIGURES = "/admin/overview"


@pytest.fixture
def operator(api: Client) -> Browser:
    person = with_password(User.objects.create_superuser(f"operator-{secrets.token_hex(6)}@example.com"))
    with_authenticator_app(person)
    return logged_in(api, person)


def figure(page: str, label: str) -> str:
    found = re.search(rf"{label} (\d\S*)", page)
    assert found, label
    return found[1]


def test_overview__of_a_busy_service__shows_queue_failures_and_organizations(operator: Browser) -> None:
    tenant = make_tenant()
    name = f"Busy {secrets.token_hex(4)}"
    Organization.objects.filter(pk=tenant.organization.pk).update(name=name)
    before = text_of(operator.get("/admin/"))
    UsageDay.objects.update_or_create(
        organization=tenant.organization, day=today(), defaults={"submissions": 10**9, "refusals": 7, "mails": 5}
    )
    delivery = make_delivery("ada@example.com", organization=tenant.organization, status="failed", finished_at=now())
    soon = now() + dt.timedelta(minutes=1)  # the newest of all, whatever other tests do
    for error in ("tls_failure", "tls_failure", "mail_failed", ""):
        Attempt.objects.create(delivery=delivery, started_at=soon, duration_ms=9, error=error)
    Refusal.objects.create(
        organization=tenant.organization, code="rate_limited", count=4, hour=now(), first_at=now(), last_at=now(),
        fingerprint=secrets.token_hex(32),
    )  # fmt: skip
    FormReport.objects.create(organization_slug=tenant.organization.slug, form_name="Contact", reason="Phishing")
    page = operator.get("/admin/")
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    seen = text_of(page)
    for part in (f"{name} 1,000,000,000 7 5", "No secure connection", "Rate limited", "reported form"):
        assert part in seen
        assert part not in before or part == "reported form"
    assert int(figure(seen, "Submissions").replace(",", "")) >= 10**9
    assert int(figure(seen, "Organizations").replace(",", "")) == Organization.objects.count()
    fragment = operator.get(FIGURES)
    assert (name in fragment.text, "<html" in fragment.text) == (True, False)
    UsageDay.objects.filter(organization=tenant.organization).delete()


@pytest.mark.parametrize("path", first_on_both(["/admin/", FIGURES]))
def test_overview__anyone_else__stays_outside(api: Client, path: str) -> None:
    assert api.get(path).headers["Location"].partition("?")[0] == "/admin/login/"
    owner = logged_in(api, person_of(make_tenant()))
    assert owner.follow(owner.get(path)).status == 403
    staff = with_password(User.objects.create_superuser(f"{secrets.token_hex(6)}@example.com"))
    assert logged_in(api, staff).get(path).headers["Location"] == "/account/2fa/"


def test_submissions__found_by_id_form_and_organization__without_their_values(operator: Browser) -> None:
    tenant, other = make_tenant(), make_tenant()
    pk = put(tenant, tenant.default_form_id, {"message": "For the owner only"})
    put(other, other.default_form_id, {"message": "Another"})
    for term in (pk, tenant.default_form_id, tenant.organization.slug):
        page = operator.get(f"/admin/submissions/submission/?q={term}").text
        assert re.findall(r">(sub_[0-9a-z]{26})<", page) == [pk]
    for term in ("sub_nonsense", "nobody", "sub_" + "0" * 26):
        assert ">sub_" not in operator.get(f"/admin/submissions/submission/?q={term}").text
    link = re.search(r'href="(/admin/submissions/submission/[^"]+/change/[^"]*)"', page)
    assert link
    shown = operator.get(link[1].replace("&amp;", "&"))
    assert (shown.status, "For the owner only" in shown.text, pk in shown.text) == (200, False, True)


def test_deliveries__found_by_the_id_of_their_submission__are_these(operator: Browser) -> None:
    tenant = make_tenant()
    own = make_delivery("ada@example.com", organization=tenant.organization, status="failed", finished_at=now())
    make_delivery("eve@example.com", organization=make_tenant().organization, status="failed", finished_at=now())
    for term in (own.public_id, tenant.organization.slug):
        page = operator.get(f"/admin/webhooks/delivery/?q={term}").text
        assert ("ada@example.com" in page, "eve@example.com" in page) == (True, False)
