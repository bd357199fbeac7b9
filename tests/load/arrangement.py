"""
Create the benchmark's rows, and print the statements of one submission as the service sends them.

Runs inside `manage.py shell`, in the service's own environment, and prints one line of JSON:

    {"key": "fp_…", "form_id": "frm_…", "statements": ["SELECT …", "INSERT …"], "id": "019…"}
"""

import dataclasses
import json
import uuid
from typing import Any

from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from config.times import now
from forms_app.actions import create_form
from forms_app.models import Form
from forms_app.organizations import create_organization
from keys.access_keys import issue_key, note_use
from keys.models import AccessKey, User
from keys.plans import Plan
from submissions.models import Submission
from submissions.receiving.insert import store
from submissions.receiving.key_and_form import find_key_and_form
from submissions.receiving.parse_body import read_keyed_json
from tests.load.request import BODY, USER_AGENT

NO_LIMIT = 2_000_000_000  # requests an hour: nobody is refused in a benchmark
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
    form = create_form(organization=organization, name="Contact", status=Form.Status.PUBLISHED, fields=FIELDS)
    _, token = issue_key(organization=organization, name="Bench", by=None)
    for key in AccessKey.objects.filter(organization=organization):
        note_use(key.pk, from_browser=False)  # as keys are that work: noted at most every ten minutes
    publishable = AccessKey.objects.get(organization=organization, kind=AccessKey.Kind.PUBLISHABLE)
    return Arranged(form.public_id, token, publishable.publishable_token)


def fill(*, rows: int, characters: int) -> None:
    """Store submissions of the bench's organization, for exports."""
    form = Form.objects.get(name="Contact")
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


def main() -> None:
    arranged = arrange()
    statements, pk = capture(arranged.key, arranged.form_id)
    shown = {"key": arranged.key, "form_id": arranged.form_id, "statements": statements, "id": str(pk)}
    print(json.dumps(shown))


def capture(token: str, form_id: str) -> tuple[list[str], uuid.UUID]:
    """Return the SQL of one submission with its values in it, and the id that the row got."""
    request = RequestFactory().post(
        f"/api/submit?formId={form_id}", BODY, content_type="application/json", headers={"x-access-key": token}
    )
    with CaptureQueriesContext(connection) as queries:
        post = read_keyed_json(request)
        found = find_key_and_form(post)
        assert found.form is not None
        meta = {"ip": "127.0.0.1", "userAgent": USER_AGENT, "origin": None, "referer": None}
        stored = store(found.form, post.intake, meta)
    return [query["sql"] for query in queries], stored.id
