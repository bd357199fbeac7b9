"""Organizations: several for one person, a new one, another name, the end of one."""

import datetime as dt
import secrets

import pytest

from forms_app.models import Form
from keys.models import AccessKey, AuditEvent, Membership, Organization
from keys.plans import Plan
from submissions.lifecycle.erasure import ERASED_IN_REQUEST
from submissions.models import Submission
from tests.services.client import Client
from tests.support.accounts import with_authenticator_app
from tests.support.browser import logged_in, member_of, person_of, place, text_of
from tests.support.rows import row
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant

NEW = "/dashboard/organizations/new"


def test_organizations__of_one_person__are_switched_and_kept_apart(api: Client) -> None:
    first, second = make_tenant(), make_tenant()
    owner = person_of(first)
    Membership.objects.create(organization=second.organization, user=owner, role="member")
    api.post("/api/submit", second.key, json={"note": "only of the second"})
    browser = logged_in(api, owner)
    page = browser.get(place(first))
    assert f'href="{place(second)}"' in page.text
    assert "only of the second" not in browser.get(place(first, "submissions")).text
    assert "only of the second" in browser.get(place(second, "submissions")).text
    assert browser.get("/dashboard/").headers["Location"] == place(second)  # where one was last
    assert browser.get(place(second, "keys")).status == 403  # a role is of one organization
    assert browser.get(place(first, "keys")).status == 200


def test_organization__new__is_whole_and_owned(api: Client) -> None:
    owner = person_of(make_tenant())
    browser, name = logged_in(api, owner), f"Второй <b>{secrets.token_hex(4)}</b>"
    made = browser.send(NEW, name=name)
    organization = Organization.objects.get(name=name)
    assert made.headers["Location"] == f"/dashboard/o/{organization.slug}/"
    assert "<b>" not in browser.get(made.headers["Location"]).text
    assert Membership.objects.get(organization=organization).role == "owner"
    assert Form.objects.get(organization=organization).is_default
    keys = AccessKey.objects.filter(organization=organization, kind="publishable")
    assert sorted(keys.values_list("mode", flat=True)) == ["live", "test"]
    assert AccessKey.objects.filter(organization=organization).count() == 2
    assert AuditEvent.objects.filter(organization=organization, action="organization.created", user=owner).exists()


@pytest.mark.parametrize("name", first_on_both(["\0", "", "   ", "x" * 201]))
def test_organization__name_that_is_none__is_asked_again(api: Client, name: str) -> None:
    tenant = make_tenant()
    browser = logged_in(api, person_of(tenant))
    assert browser.send(NEW, name=name).status == 400
    assert browser.send(place(tenant, "organization"), name=name).status == 400
    assert Organization.objects.get(pk=tenant.organization.pk).name == tenant.organization.name


def test_organization__renamed_by_an_admin__keeps_its_addresses(api: Client) -> None:
    tenant = make_tenant()
    browser = logged_in(api, member_of(tenant.organization, "admin"))
    settings = place(tenant, "organization")
    browser.send(settings, name="Analytical Engines")
    assert "Analytical Engines" in text_of(browser.get(place(tenant)))
    browser.send(settings, name="Bold <b>")
    assert "Bold &lt;b&gt;" in browser.get(place(tenant)).text
    browser.send(settings, name="Analytical Engines")
    browser.send(settings, name="Analytical Engines")  # the same again is no event
    events = AuditEvent.objects.filter(organization=tenant.organization, action="organization.renamed").order_by("pk")
    assert [event.subject for event in events] == [
        f"{tenant.organization.name} is now Analytical Engines",
        "Analytical Engines is now Bold <b>",
        "Bold <b> is now Analytical Engines",
    ]


def test_organization__ended_by_its_owner__is_gone_with_everything(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    member = member_of(tenant.organization, "member")
    api.post("/api/submit", tenant.key, json={"note": "hello"})
    api.post("/api/submit", other.key, json={"note": "hello"})
    browser, end = logged_in(api, person_of(tenant)), place(tenant, "organization/end")
    wrong = browser.send(end, typed="something else")
    assert (wrong.status, "Nothing was changed" in wrong.text) == (400, True)
    assert browser.send(end, typed=tenant.organization.name).headers["Location"] == "/dashboard/"
    assert not Organization.objects.filter(pk=tenant.organization.pk).exists()
    assert not Submission.objects.filter(organization_id=tenant.organization.pk).exists()
    assert api.post("/api/submit", tenant.key, json={"note": "late"}).status == 401
    assert Submission.objects.filter(organization=other.organization).count() == 1
    assert logged_in(api, member).get("/dashboard/").headers["Location"] == NEW


def test_organization__too_large_to_end_at_once__says_what_to_do(api: Client) -> None:
    tenant = make_tenant()
    rows = [row(tenant, tenant.default_form_id, {"n": "1"}) for _ in range(ERASED_IN_REQUEST + 1)]
    Submission.objects.bulk_create(rows, batch_size=500)
    browser = logged_in(api, person_of(tenant))
    answer = browser.send(place(tenant, "organization/end"), typed=tenant.organization.name)
    assert (answer.status, f"more than {ERASED_IN_REQUEST:,} submissions" in answer.text) == (400, True)
    assert AccessKey.objects.filter(organization=tenant.organization, revoked_at=None).count() == 3


def test_second_step__demanded_by_the_owner__sends_members_without_one_to_set_it_up(api: Client) -> None:
    tenant = make_tenant()
    owner, without = person_of(tenant), member_of(tenant.organization, "admin")
    having = member_of(tenant.organization, "member")
    for person in (owner, having):
        with_authenticator_app(person)
    browser = logged_in(api, owner)
    done = browser.post(place(tenant, "organization/second-step"), form=place(tenant, "organization"), demanded="1")
    assert done.status == 302
    outside = logged_in(api, without)
    for page in ("", "keys", "members", "submissions/live", "submissions/export"):
        answer = outside.get(place(tenant, page))
        assert (answer.status, answer.headers["Location"]) == (302, "/account/2fa/")
    assert f"{tenant.organization.name} requires a passkey" in text_of(outside.get("/account/2fa/"))
    assert [logged_in(api, person).get(place(tenant)).status for person in (owner, having)] == [200, 200]
    assert api.get("/api/forms", tenant.key).status == 200
    with_authenticator_app(without)
    assert outside.get(place(tenant)).status == 200
    trail = AuditEvent.objects.filter(organization=tenant.organization, user=owner)
    assert trail.get(action="organization.second_step_required").changes == {"second_step_required": [False, True]}


def test_second_step__demanded_by_an_owner_without_one__is_refused(api: Client) -> None:
    tenant = make_tenant()
    browser = logged_in(api, person_of(tenant))
    browser.post(place(tenant, "organization/second-step"), form=place(tenant, "organization"), demanded="1")
    assert "to your own account first" in text_of(browser.get(place(tenant, "organization")))
    assert browser.get(place(tenant)).status == 200


def test_second_step__demanded_by_one_organization__leaves_the_others_open(api: Client) -> None:
    first, second = make_tenant(), make_tenant()
    person = person_of(first)
    Membership.objects.create(organization=second.organization, user=person, role="admin")
    Organization.objects.filter(pk=second.organization.pk).update(second_step_required=True)
    browser = logged_in(api, person)
    assert [browser.get(place(tenant)).status for tenant in (first, second)] == [200, 302]
    answer = browser.post(place(second, "members"), form="/account/logout/", email="x@example.com", role="member")
    assert answer.headers["Location"] == "/account/2fa/"
    with_authenticator_app(second.owner)
    assert text_of(logged_in(api, person_of(second)).get(place(second, "members"))).count("No second step") == 1


@pytest.mark.parametrize(
    ("plan", "mails"), first_on_both([(Plan.FREE, "500"), (Plan.PRO, "5,000"), (Plan.ENTERPRISE, "50,000")])
)
def test_plan__of_each_kind__says_its_limits_and_when_the_hour_ends(api: Client, plan: Plan, mails: str) -> None:
    tenant = make_tenant(plan)
    reset = int(api.get("/api/forms", tenant.key).headers["X-RateLimit-Reset"])
    page = text_of(logged_in(api, person_of(tenant)).get(place(tenant, "plan")))
    assert f"The count resets at {dt.datetime.fromtimestamp(reset, dt.UTC):%H:%M} UTC." in page
    own = page[page.index("Your plan") :]
    assert own.index(f"{mails} mails per hour") < own.index("Unlimited access keys")
