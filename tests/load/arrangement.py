"""
Create the benchmark's rows.

Runs inside `manage.py shell`, in the service's own environment, and prints one line of JSON:

    {"key": "fp_…", "form_id": "frm_…"}
"""

import dataclasses
import json
from typing import Any

from config.base.times import now
from forms_app.actions import create_form
from forms_app.models import Form
from forms_app.sign_up import create_organization
from keys.access_keys import issue_key, note_use
from keys.models import AccessKey, Notice, User
from keys.plans import Plan
from submissions.models import Submission
from webhooks.receivers.registration import register_webhook

NO_LIMIT = 2_000_000_000  # requests an hour: nobody is refused in a benchmark
NAME = "Contact"
FIELDS: list[dict[str, Any]] = [
    {"name": "name", "label": "Name", "type": "Text", "required": True},
    {"name": "email", "label": "Email", "type": "Email", "required": True},
    {"name": "message", "label": "Message", "type": "Textarea", "required": True},
]


@dataclasses.dataclass(frozen=True)
class Arranged:
    """A published form with three fields, and the organization's secret and publishable key."""

    form_id: str
    key: str
    publishable: str


def arrange() -> Arranged:
    owner = User.objects.create_user("owner@example.com")
    organization = create_organization(name="Bench", owner=owner, plan=Plan.ENTERPRISE)
    organization.rate_limit = NO_LIMIT
    organization.save()
    form = create_form(organization=organization, name=NAME, status=Form.Status.PUBLISHED, fields=FIELDS)
    _, token = issue_key(organization=organization, name="Bench", by=None)
    for key in AccessKey.objects.filter(organization=organization):
        note_use(key.pk, from_browser=False)  # as keys are that work: noted at most every ten minutes
    publishable = AccessKey.objects.get(
        organization=organization, kind=AccessKey.Kind.PUBLISHABLE, mode=AccessKey.Mode.LIVE
    )
    return Arranged(form.public_id, token, publishable.publishable_token)


def fill(*, rows: int, characters: int) -> None:
    """Store submissions of the bench's organization, for exports."""
    form = Form.objects.get(name=NAME)
    Submission.objects.bulk_create(
        Submission(
            organization_id=form.organization_id,
            form=form,
            data={"message": "x" * characters},
            search_text="",
            created_at=now(),
        )
        for _ in range(rows)
    )


def add_webhook(url: str) -> None:
    """Give the form a webhook. Prints `{}`."""
    form = Form.objects.get(name=NAME)
    register_webhook(organization=form.organization, form=form, url=url, events=["submission.created"])
    Notice.objects.all().delete()  # the owners' mails are not measured
    print(json.dumps({}))


def main() -> None:
    """Print the arranged ids; see above."""
    arranged = arrange()
    print(json.dumps({"key": arranged.key, "form_id": arranged.form_id}))
