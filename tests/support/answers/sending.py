"""Forms that answer their submitters, submissions that pass their human check, and the links in those mails."""

import re
from typing import Any
from urllib.parse import urlsplit

from config.base.ids import Prefix, decode_id
from submissions.models import Submission, SubmitterMail
from tests.services.client import Answer, Client
from tests.services.receivers import Mail
from tests.services.waiting import eventually
from tests.support.hosted_posts import post, solve
from tests.support.mail_links import text_part
from tests.support.submitting import submit
from tests.support.tenants import Tenant

FIELDS: list[dict[str, Any]] = [
    {"name": "email", "label": "Email", "type": "Email", "required": False},
    {"name": "name", "label": "Name", "type": "Text", "required": False},
    {"name": "topic", "label": "Topic", "type": "Select", "required": False, "options": ["Sales", "Support"]},
]
REPLY = {
    "enabled": True,
    "subject": "Thanks for writing about {{ data.topic }}",
    "text": 'Dear {{ data.name | default: "friend" }},\nwe answer within a day.',
}
PROOF = {"proof_of_work": True}


def answering_form(tenant: Tenant, **values: Any) -> str:
    """Return the id of a published form with an Email field and a human check; by default it replies."""
    defaults: dict[str, Any] = {"fields": FIELDS, "spam_protection": PROOF, "reply": REPLY}
    return tenant.form(**{**defaults, **values})


def send(api: Client, tenant: Tenant, form_id: str, key: str = "", **values: str) -> str:
    """Submit as a page does, with its proof of work; return the submission's id."""
    answer = submit(api, key or tenant.publishable, form_id, {**values, "_altcha": solve(api, form_id)})
    assert answer.status == 201, answer.text
    return str(answer.json()["data"]["id"])


def send_plainly(api: Client, form_id: str, **values: str) -> Answer:
    """Post to the form's page, with a proof of work."""
    return post(api, form_id, {**values, "_altcha": solve(api, form_id)})


def decision(submission_id: str, kind: str = "reply") -> str:
    """Wait until the service has decided about a mail to a submitter; return why none went, "" if one did."""
    mails = SubmitterMail.objects.filter(submission=decode_id(Prefix.SUBMISSION, submission_id), kind=kind)
    decided = mails.filter(decided_at__isnull=False)
    return str(eventually(decided.first, because=f"the {kind} of {submission_id} is decided").refusal)


def link_of(mail: Mail, kind: str = "confirm") -> str:
    """Return the path of the link to confirm, or (`no-mails`) to end the mails."""
    found = re.search(rf"https?://\S+/f/{kind}/\S+", text_part(mail))
    assert found, text_part(mail)
    return urlsplit(found[0]).path


def press(api: Client, path: str, data: str = "") -> Answer:
    """Press the one button of a mail's page: no cookie, no token."""
    return api.post(path, data=data, headers={"Content-Type": "application/x-www-form-urlencoded"})


def row_of(submission_id: str) -> Submission:
    return Submission.objects.get(pk=decode_id(Prefix.SUBMISSION, submission_id))
