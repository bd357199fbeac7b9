"""A suspended organization: its keys and forms are refused, its deliveries wait, nothing is deleted."""

from urllib.parse import parse_qs, urlsplit

import pytest

from config.base.ids import Prefix, decode_id
from keys.models import AuditEvent, Organization
from keys.suspension import resume_organization, suspend_organization
from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import MailReceiver, Receiver
from tests.services.waiting import eventually
from tests.support.accounts import reauthenticate
from tests.support.browser import logged_in, member_of, person_of, place, text_of
from tests.support.command_line import complaint, output
from tests.support.deliveries import make_delivery
from tests.support.hosted_posts import ask, post, refused_json
from tests.support.live_stream import Stream
from tests.support.mail_links import text_part
from tests.support.replies import failure
from tests.support.submitting import submit, submit_and_get_id
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import register
from webhooks.models import Delivery
from webhooks.models import Receiver as ReceiverRow

OURS = failure(
    "suspended", "The operator of this service has suspended this organization. Its dashboard shows the reason."
)
VISITORS = "This form is not available."


@pytest.fixture
def suspended() -> Tenant:
    tenant = make_tenant()
    suspend_organization(tenant.organization, reason="Phishing was reported", by=None)
    return tenant


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/forms"), ("GET", "/api/submissions"), ("POST", "/api/webhooks"), ("GET", "/api/nowhere")],
)
def test_key__of_a_suspended_organization__answers_403_and_the_headers(
    api: Client, suspended: Tenant, method: str, path: str
) -> None:
    answer = api.request(method, path, suspended.key)
    assert (answer.status, answer.json()) == (403, OURS)
    assert answer.headers["X-RateLimit-Limit"] == "100"  # counted against the address


def test_key__suspended__comes_after_the_key_and_before_every_other_gate(api: Client, suspended: Tenant) -> None:
    Organization.objects.filter(pk=suspended.organization.pk).update(plan="enterprise", rate_limit=1)
    for _ in range(3):
        assert api.post("/api/submit?formId=wrong", suspended.key, data=b"{").json() == OURS
        assert api.get("/api/forms", suspended.key).json() == OURS
    assert api.get("/api/forms", suspended.publishable).json() == OURS
    wrong = suspended.key[:-1] + ("y" if suspended.key.endswith("x") else "x")
    assert api.get("/api/forms", wrong).status == 401


def test_submit__with_any_key__is_refused_and_stores_nothing(api: Client, suspended: Tenant) -> None:
    form_id = suspended.form()
    assert submit(api, suspended.key, form_id).json() == OURS
    page = submit(api, suspended.publishable, form_id, Origin="https://shop.example")
    assert (page.status, page.json()) == (403, failure("suspended", VISITORS))
    assert page.headers["Access-Control-Allow-Origin"] == "*"
    assert not Submission.objects.filter(organization=suspended.organization).exists()


def test_hosted_page__of_a_suspended_organization__says_not_available(api: Client, suspended: Tenant) -> None:
    form_id = suspended.form()
    answers = [api.get(f"/f/{form_id}"), api.get(f"/f/{form_id}/thanks"), post(api, form_id, {"a": "1"})]
    assert [answer.status for answer in answers] == [403, 403, 403]
    assert all("This form is not available" in text_of(answer) for answer in answers)
    assert not any("suspended" in answer.text for answer in answers)
    wanted = refused_json("suspended", VISITORS, {"code": "INACTIVE", "message": VISITORS})
    assert ask(api, form_id, {"a": "1"}).json() == wanted
    assert not Submission.objects.filter(organization=suspended.organization).exists()


def test_deliveries__while_suspended__wait_and_leave_on_resume(
    api: Client, smtp: MailReceiver, receiver: Receiver
) -> None:
    tenant = make_tenant()
    webhook = ReceiverRow.objects.get(pk=decode_id(Prefix.WEBHOOK, register(api, tenant, receiver.url())["id"]))
    address = f"{tenant.organization.slug}@example.net"
    submission = Submission.objects.get(pk=decode_id(Prefix.SUBMISSION, submit_and_get_id(api, tenant)))
    suspend_organization(tenant.organization, by=None)
    waiting = [make_delivery(to, submission=submission) for to in (webhook, address)]
    rows = Delivery.objects.filter(pk__in=[row.pk for row in waiting])
    eventually(lambda: rows.waiting_for_resume().count() == 2)
    assert (smtp.to(address), rows.filter(attempt_count=0, status="pending").count()) == ([], 2)
    resume_organization(tenant.organization, by=None)
    smtp.wait_for(address)
    eventually(lambda: rows.filter(status="delivered").count() == 2)


def test_resume__by_command__undoes_it_on_the_next_request(api: Client, service: Application) -> None:
    tenant = make_tenant()
    slug = tenant.organization.slug
    assert slug in output(service, "suspend_organization", slug, "--reason", "Unpaid")
    assert api.get("/api/forms", tenant.key).json() == OURS
    assert slug in output(service, "resume_organization", slug)
    assert submit(api, tenant.key).status == 201
    trail = AuditEvent.objects.filter(organization=tenant.organization, action__startswith="organization.")
    found = list(trail.order_by("pk").values_list("action", "subject"))[1:]
    assert found == [("organization.suspended", "Unpaid"), ("organization.resumed", "")]


@pytest.mark.usefixtures("service")
def test_owners__of_a_suspended_organization__are_mailed_then_and_on_resume(smtp: MailReceiver) -> None:
    tenant = make_tenant()
    admin = member_of(tenant.organization, "admin")
    suspend_organization(tenant.organization, reason="Phishing was reported", by=None)
    suspend_organization(tenant.organization, reason="Phishing was reported", by=None)  # changes nothing
    (first,) = smtp.wait_for(tenant.owner.email)
    assert first.message["Subject"] == f"{tenant.organization.name} is suspended"
    assert "Reason: Phishing was reported" in text_part(first)
    for _ in range(2):
        resume_organization(tenant.organization, by=None)
    _, second = smtp.wait_for(tenant.owner.email, count=2)
    assert second.message["Subject"] == f"{tenant.organization.name} is no longer suspended"
    assert "the waiting deliveries are sent now" in text_part(second)
    assert smtp.to(admin.email) == []


@pytest.mark.on_sqlite
def test_commands__unknown_slug_or_long_reason__are_errors(service: Application, suspended: Tenant) -> None:
    assert "nobody" in complaint(service, "suspend_organization", "nobody")
    assert "nobody" in complaint(service, "resume_organization", "nobody")
    slug = suspended.organization.slug
    assert "300" in complaint(service, "suspend_organization", slug, "--reason", "x" * 301)
    assert Organization.objects.get(slug=slug).suspended_reason == "Phishing was reported"


@pytest.mark.parametrize("shown", ["", "submissions", "keys", "plan", "members"])
def test_dashboard__of_a_suspended_organization__can_be_read_and_shows_the_reason(
    api: Client, suspended: Tenant, shown: str
) -> None:
    answer = logged_in(api, person_of(suspended)).get(place(suspended, shown))
    assert (answer.status, 'role="alert"' in answer.text) == (200, True)
    assert "suspended this organization: Phishing was reported" in text_of(answer)


def test_dashboard__changes_while_suspended__are_refused_but_exports_and_leaving_are_not(
    api: Client, suspended: Tenant
) -> None:
    owner = logged_in(api, person_of(suspended))
    renamed = owner.send(place(suspended, "organization"), name="Other")
    assert (renamed.status, "This organization is suspended" in text_of(renamed)) == (403, True)
    ended = owner.send(place(suspended, "organization/end"), typed=suspended.organization.name)
    assert ended.status == 403
    assert Organization.objects.get(pk=suspended.organization.pk).name == suspended.organization.name
    exported = owner.post(place(suspended, "submissions/export/run"), form=place(suspended), format="json")
    assert (exported.status, exported.json()) == (200, [])
    member = logged_in(api, member_of(suspended.organization, "member"))
    assert member.send(place(suspended, "members/leave")).status == 302


def test_account__only_owner_of_a_suspended_organization__cannot_delete_it_with_the_account(
    api: Client, suspended: Tenant
) -> None:
    owner, slug = logged_in(api, person_of(suspended)), suspended.organization.slug
    reauthenticate(owner)
    answer = owner.send("/dashboard/account/delete", typed=suspended.owner.email, organizations=slug)
    assert (answer.status, "is suspended and cannot be deleted now" in text_of(answer)) == (400, True)
    assert Organization.objects.filter(slug=slug).exists()


def test_live_stream__of_a_suspended_organization__still_opens(
    api: Client, service: Application, suspended: Tenant
) -> None:
    url = logged_in(api, person_of(suspended)).get(place(suspended, "submissions/live")).json()["url"]
    (token,) = parse_qs(urlsplit(url).query)["token"]
    with Stream(service.events_port, token) as stream:
        assert stream.answer.status == 200
