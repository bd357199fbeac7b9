"""A form that the operator has blocked: its page and its submissions are refused, other forms work (contract 2.48)."""

import re
import secrets

import pytest

from config.api.errors import Conflict
from config.base.ids import Prefix, decode_id
from forms_app.actions import duplicate_form
from forms_app.models import Form
from forms_app.moderation.blocking import block_form
from keys.models import AuditEvent, Notice, User
from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.support.accounts import with_authenticator_app
from tests.support.browser import logged_in, person_of, place, text_of, with_password
from tests.support.command_line import complaint, output
from tests.support.hosted_posts import SHOP, ask, post, refused_json
from tests.support.replies import UNAUTHORIZED, failure
from tests.support.tenants import Tenant, make_tenant

OURS = failure(
    "suspended", "The operator of this service has blocked this form. Its page in the dashboard shows the reason."
)
VISITORS = "This form is not available."


def default_form(tenant: Tenant) -> Form:
    return Form.objects.get(pk=decode_id(Prefix.FORM, tenant.default_form_id))


@pytest.fixture
def tenant() -> Tenant:
    made = make_tenant()
    block_form(default_form(made), reason="Phishing was reported", by=None)
    return made


def test_blocked_form__refuses_posts_of_keys_and_pages_and_stores_nothing(api: Client, tenant: Tenant) -> None:
    blocked = tenant.default_form_id
    for path in ("/api/submit", f"/api/submit?formId={blocked}"):
        answer = api.post(path, tenant.key, json={"a": "1"})
        assert (answer.status, answer.json()) == (403, OURS)
    page = api.post("/api/submit", tenant.publishable, json={"a": "1"}, headers=SHOP)
    assert (page.status, page.json()["error"], page.json()["message"]) == (403, "suspended", VISITORS)
    assert post(api, blocked, {"a": "1"}).status == 403
    wanted = refused_json("suspended", VISITORS, {"code": "INACTIVE", "message": VISITORS})
    assert ask(api, blocked, {"a": "1"}).json() == wanted
    shown = api.get(f"/f/{blocked}")
    assert (shown.status, "This form is not available" in text_of(shown)) == (403, True)
    assert not Submission.objects.filter(organization=tenant.organization).exists()


def test_blocked_form__leaves_other_forms_and_their_keys_as_they_are(api: Client, tenant: Tenant) -> None:
    other = api.post("/api/forms", tenant.key, json={"name": "Other", "status": "published"}).json()["data"]["id"]
    assert api.post(f"/api/submit?formId={other}", tenant.key, json={"a": "1"}).status == 201
    assert api.get(f"/f/{other}").status == 200
    assert api.get(f"/api/submissions?formId={tenant.default_form_id}", tenant.key).status == 200
    with pytest.raises(Conflict, match="blocked this form"):
        duplicate_form(default_form(tenant))
    stranger = make_tenant()
    assert (
        api.post(f"/api/submit?formId={tenant.default_form_id}", stranger.key, json={"a": "1"}).json() == UNAUTHORIZED
    )


def test_blocked_form__in_the_dashboard_and_a_mail__says_why(api: Client, tenant: Tenant) -> None:
    owner = logged_in(api, person_of(tenant))
    seen = text_of(owner.get(place(tenant, f"forms/{tenant.default_form_id}")))
    assert "The operator of this service has blocked this form: Phishing was reported" in seen
    mail = Notice.objects.get(organization=tenant.organization, kind="form.blocked")
    assert "Reason: Phishing was reported" in mail.text
    event = AuditEvent.objects.get(organization=tenant.organization, action="form.blocked")
    assert event.subject.endswith("(Phishing was reported)")


def test_block_form__command__blocks_and_unblocks_once(service: Application, api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.default_form_id
    for _ in range(2):
        assert "is blocked. Undo it with" in output(service, "block_form", form_id, "--reason", "Spam")
    assert api.post("/api/submit", tenant.key, json={"a": "1"}).status == 403
    for _ in range(2):
        output(service, "block_form", form_id, "--undo")
    assert api.post("/api/submit", tenant.key, json={"a": "1"}).status == 201
    actions = AuditEvent.objects.filter(organization=tenant.organization, action__contains="blocked")
    assert list(actions.order_by("pk").values_list("action", flat=True)) == ["form.blocked", "form.unblocked"]
    assert "There is no form with the id 'frm_no'." in complaint(service, "block_form", "frm_no")
    assert "at most 300 characters" in complaint(service, "block_form", form_id, "--reason", "x" * 301)


def test_admin__form_found_by_its_id__is_blocked_by_the_operator(api: Client) -> None:
    tenant = make_tenant()
    person = with_password(User.objects.create_superuser(f"{secrets.token_hex(6)}@example.com"))
    with_authenticator_app(person)
    operator = logged_in(api, person)
    page = operator.get(f"/admin/forms_app/form/?q={tenant.default_form_id}").text
    assert set(re.findall(r"\bfrm_[0-9a-z]{26}\b", page)) == {tenant.default_form_id}
    form = default_form(tenant)
    operator.send("/admin/forms_app/form/", action="block", _selected_action=str(form.pk))
    assert api.post("/api/submit", tenant.key, json={"a": "1"}).json() == OURS
    event = AuditEvent.objects.get(organization=tenant.organization, action="form.blocked")
    assert event.user == person
