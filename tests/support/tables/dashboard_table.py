"""
Every address of the dashboard and its roles: the one table, which `test_dashboard_table.py` tries.

`get` and `post` name the lowest role that may; None: there is no such method (405). All others get the same answer
everywhere: strangers the login, another organization's owner 404, members without the role 403. A page of the menu
that only shows has its row from there.
"""

import dataclasses
import secrets
from collections.abc import Callable
from typing import Any

from config.base.ids import Prefix, decode_id
from config.base.times import now
from dashboard.frame.design.menu import PAGES
from forms_app.actions import archive_form
from forms_app.models import Form
from keys.access_keys import issue_key
from keys.invitations import invite
from keys.models import Membership, Role
from submissions.models import Import, ImportFile, ImportFilePart, Submission
from tests.services.waiting import eventually
from tests.support.browser import member_of
from tests.support.deliveries import make_delivery
from tests.support.files.rows import picture, put_with_files
from tests.support.rows import put
from tests.support.tenants import Tenant
from webhooks.models import Receiver
from webhooks.receivers.destinations import add_destination, change_destination

VIEWER, MEMBER, ADMIN, OWNER = "viewer", "member", "admin", "owner"
Maker = Callable[[Tenant], dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Row:
    """`thing` makes what the address names, fresh for each try; `shown`, `done`: the status of success."""

    get: str | None = None
    post: str | None = None
    thing: Maker = lambda tenant: {}
    data: dict[str, str] = dataclasses.field(default_factory=dict)
    shown: int = 200
    done: int = 302


def a_form(tenant: Tenant, **values: Any) -> dict[str, Any]:
    return {"form_id": tenant.form(**values)}


def a_draft(tenant: Tenant) -> dict[str, Any]:
    return a_form(tenant, published=False)


def a_form_with_origins(tenant: Tenant) -> dict[str, Any]:
    return a_form(tenant, allowed_origins=["https://example.com"])


def a_picture(tenant: Tenant) -> dict[str, Any]:
    made = put_with_files(tenant, tenant.default_form_id, [picture()])
    return {"file_id": made.files[0].public_id}


def an_archived_form(tenant: Tenant) -> dict[str, Any]:
    made = tenant.form(name="To erase")
    form = Form.objects.filter(organization=tenant.organization, name="To erase").order_by("-id")[0]
    archive_form(form)
    return {"form_id": made}


def a_key(tenant: Tenant) -> dict[str, Any]:
    key, _ = issue_key(organization=tenant.organization, name="A key", by=None)
    return {"key_id": key.public_id}


def a_webhook(tenant: Tenant, status: str = "active") -> dict[str, Any]:
    tenant.form(name="Of a webhook")  # its own: a form has a URL once
    form = Form.objects.filter(organization=tenant.organization, name="Of a webhook").order_by("-id")[0]
    reason = "Disabled by hand." if status == "disabled" else ""
    url = f"http://127.0.0.1:9/{secrets.token_hex(6)}"
    made = Receiver.objects.create(
        organization=tenant.organization,
        form=form,
        url=url,
        events=["submission.created"],
        status=status,
        disabled_reason=reason,
    )
    return {"receiver_id": made.public_id}


def a_destination(tenant: Tenant, status: str = "active") -> dict[str, Any]:
    config = {"url": "http://127.0.0.1:9/topic"}
    made = add_destination(organization=tenant.organization, form=None, kind="ntfy", name="Team", config=config)
    if status == "disabled":
        change_destination(made, {"status": status})
    return {"receiver_id": made.public_id}


def a_disabled_destination(tenant: Tenant) -> dict[str, Any]:
    return a_destination(tenant, "disabled")


def a_submission(tenant: Tenant) -> dict[str, Any]:
    return {"submission_id": put(tenant, tenant.default_form_id, {"message": "Hello"})}


def a_test_submission(tenant: Tenant) -> dict[str, Any]:
    made = a_submission(tenant)
    pk = decode_id(Prefix.SUBMISSION, made["submission_id"])
    Submission.objects.filter(pk=pk).update(controls={Submission.TRIAL: "dashboard"})
    return {"form_id": tenant.default_form_id, **made}


def a_delivery(tenant: Tenant) -> dict[str, Any]:
    pk = decode_id(Prefix.SUBMISSION, a_submission(tenant)["submission_id"])
    # Dispatched first: its message must not be there when dispatch makes one for the organization's destinations.
    dispatched = Submission.objects.filter(pk=pk, dispatched_at__isnull=False)
    submission = eventually(dispatched.first, because="the submission is dispatched")
    made = make_delivery("ada@example.com", submission=submission, status="failed", finished_at=now())
    return {"delivery_id": made.public_id}


def a_member(tenant: Tenant) -> dict[str, Any]:
    user = member_of(tenant.organization, MEMBER)
    return {"member_id": Membership.objects.get(user=user).pk}


def an_invitation(tenant: Tenant) -> dict[str, Any]:
    email = f"{secrets.token_hex(6)}@example.com"
    made, _ = invite(organization=tenant.organization, email=email, role=Role.MEMBER, by=tenant.owner)
    return {"invitation_id": made.pk}


def an_import(tenant: Tenant) -> dict[str, Any]:
    pk = decode_id(Prefix.FORM, tenant.default_form_id)
    made = Import.objects.create(organization=tenant.organization, form_id=pk, source="elsewhere")
    return {"form_id": tenant.default_form_id, "import_id": made.public_id}


def an_import_file(tenant: Tenant) -> dict[str, Any]:
    pk = decode_id(Prefix.FORM, tenant.default_form_id)
    chosen = {"preset": "", "zone": "UTC", "date_format": "", "uses": {"at": "time"}, "names": {}}
    made = ImportFile.objects.create(
        organization=tenant.organization, form_id=pk, name="rows.csv", format="csv", total=1, chosen=chosen
    )
    ImportFilePart.objects.create(file=made, content=b"at,n\n2024-01-31,1\n")
    return {"form_id": tenant.default_form_id, "file_id": made.pk}


OF_MENU = {page.name: Row(get=page.role.value) for page in PAGES}
IN_ORGANIZATION: dict[str, Row] = {
    **OF_MENU,
    "first-steps": Row(post=MEMBER, data={"do": "hide"}),
    "find": Row(get=VIEWER),
    "refused-allow": Row(post=MEMBER, thing=a_form_with_origins, data={"origin": "https://shop.example"}),
    "audit-export": Row(post=ADMIN, data={"format": "csv"}, done=200),
    # People and the organization itself.
    "members": Row(get=VIEWER, post=ADMIN, data={"email": "new@example.com", "role": "member"}),
    "member-leave": Row(get=VIEWER),
    "member-role": Row(post=ADMIN, thing=a_member, data={"role": "admin"}),
    "member-forms": Row(get=ADMIN, post=ADMIN, thing=a_member, data={"seen": "all"}),
    "member-remove": Row(get=ADMIN, post=ADMIN, thing=a_member),
    "member-resend": Row(post=ADMIN, thing=an_invitation),
    "member-take-back": Row(post=ADMIN, thing=an_invitation),
    "organization": Row(get=ADMIN, post=ADMIN, data={"name": "Renamed"}),
    "organization-brand": Row(get=ADMIN, post=ADMIN, data={"accent": "#c2410c"}),
    "organization-logo": Row(post=ADMIN, data={"do": "remove"}),
    "organization-second-step": Row(post=OWNER, data={"demanded": "0"}),
    "organization-end": Row(get=OWNER, post=OWNER, data={"typed": "not its name"}, done=400),
    # Keys.
    "key-new": Row(get=ADMIN, post=ADMIN, data={"name": ""}, done=400),
    "key-regenerate": Row(get=ADMIN, post=ADMIN, thing=a_key, done=200),
    "key-revoke": Row(get=ADMIN, post=ADMIN, thing=a_key),
    # Forms.
    "form-new": Row(get=MEMBER, post=MEMBER, data={"name": "New", "start": "contact"}),
    "form-new-html": Row(get=MEMBER, post=MEMBER, data={"html": "<input name=a>"}, done=200),
    "form-new-file": Row(get=MEMBER, post=MEMBER, data={"document": '{"name": "New"}'}, done=200),
    "form-document": Row(get=VIEWER, thing=a_form),
    "form-html": Row(get=MEMBER, post=MEMBER, thing=a_form, data={"html": "<input name=a>"}, done=200),
    "form-duplicate": Row(post=MEMBER, thing=a_form),
    "form": Row(get=VIEWER, thing=a_form),
    "form-test": Row(post=MEMBER, thing=a_form),
    "form-test-delete": Row(post=MEMBER, thing=a_test_submission),
    "form-publish": Row(post=MEMBER, thing=a_draft),
    "form-unpublish": Row(post=MEMBER, thing=a_form),
    "form-archive": Row(get=MEMBER, post=MEMBER, thing=a_form),
    "form-erase": Row(get=OWNER, post=OWNER, thing=an_archived_form, data={"typed": "To erase"}),
    "form-build": Row(get=VIEWER, post=MEMBER, thing=a_form, data={"do": "add"}, done=200),
    "form-preview": Row(post=MEMBER, thing=a_form, done=200),
    "form-settings": Row(get=VIEWER, post=MEMBER, thing=a_form, data={"name": "Other"}),
    "form-page": Row(get=VIEWER, post=MEMBER, thing=a_form, data={"button_label": "Order"}),
    "form-page-preview": Row(get=VIEWER, thing=a_form),
    "form-logo": Row(post=MEMBER, thing=a_form, data={"do": "remove"}),
    "form-spam": Row(get=VIEWER, post=MEMBER, thing=a_form, data={"minimum_seconds": "2"}),
    "form-replies": Row(get=VIEWER, post=MEMBER, thing=a_form, data={"subject": "", "text": ""}),
    "form-test-reply": Row(post=MEMBER, thing=a_form),
    "form-notifications": Row(get=ADMIN, post=ADMIN, thing=a_form, data={"recipients": "ada@example.com"}),
    "form-recipient-ask": Row(post=ADMIN, thing=a_form, data={"recipient": "ada@example.com"}),
    "form-test-mail": Row(post=ADMIN, thing=a_form, data={"recipient": "ada@example.com"}),
    "form-import": Row(get=MEMBER, post=MEMBER, thing=a_form, done=400),
    "form-import-file": Row(
        get=MEMBER, post=MEMBER, thing=an_import_file, data={"do": "show", "zone": "UTC"}, done=200
    ),
    "form-import-next": Row(post=MEMBER, thing=an_import_file),
    "form-import-refused": Row(get=MEMBER, thing=an_import_file),
    "form-import-undo": Row(post=MEMBER, thing=an_import),
    "opt-outs": Row(get=ADMIN, post=ADMIN, data={"address": "1"}),
    # Submissions.
    "submissions-live": Row(get=VIEWER),
    "submissions-act": Row(post=MEMBER, data={"do": "spam"}),
    "submissions-columns": Row(post=VIEWER),
    "test-data": Row(post=VIEWER),
    "submission": Row(get=VIEWER, thing=a_submission),
    "submission-story": Row(get=VIEWER, thing=a_submission),
    "exports-run": Row(post=VIEWER, data={"format": "csv"}, done=200),
    "exports-files": Row(post=VIEWER, done=200),
    "file-preview": Row(get=VIEWER, thing=a_picture),
    "exports-progress": Row(get=VIEWER, thing=lambda tenant: {"run": "abc"}),
    # Destinations, webhooks among them, and deliveries.
    "destination-new-kind": Row(
        get=ADMIN, post=ADMIN, thing=lambda tenant: {"kind": "slack"}, data={"name": "Team"}, done=400
    ),
    "destination": Row(get=VIEWER, thing=a_destination),
    "destination-edit": Row(get=ADMIN, post=ADMIN, thing=a_destination, data={"do": "name", "name": "Sales"}),
    "destination-activate": Row(post=ADMIN, thing=a_disabled_destination),
    "destination-disable": Row(post=ADMIN, thing=a_destination),
    "destination-test": Row(post=ADMIN, thing=a_destination),
    "destination-rotate": Row(get=ADMIN, post=ADMIN, thing=a_webhook, done=200),
    "destination-delete": Row(get=ADMIN, post=ADMIN, thing=a_webhook),
    "destination-replay": Row(
        get=ADMIN, post=ADMIN, thing=a_webhook, data={"status": "undelivered", "do": "count"}, done=200
    ),
    "delivery-retry": Row(post=ADMIN, thing=a_delivery),
}
# A person's own pages: anybody who is logged in; what they show is theirs.
PERSONAL = {
    "home",
    "account",
    "account-time-zone",
    "account-language",
    "account-delete",
    "organization-new",
    "find-submission",
    "invitations",
}
# The link of an invitation is open to anyone who has it (`test_invitations.py`), and old addresses redirect anybody.
OPEN = {"invitation", "mails", "webhooks-moved", "webhook-moved"}
