"""Create a fault's organization, forms and webhooks: runs inside `manage.py shell`, and prints one line of JSON."""

import itertools
import json
import secrets
import timeit
from typing import Any

from django.db import connection

from config.base.ids import Prefix, decode_id
from config.base.times import now
from forms_app.actions import create_form
from forms_app.models import Form, Recipient
from forms_app.sign_up import create_organization
from keys.access_keys import issue_key
from keys.models import User
from keys.plans import Plan
from submissions.models import Submission
from webhooks.models import Delivery, Receiver
from webhooks.outbox.abandoned import free_abandoned
from webhooks.outbox.dispatch import dispatch_batch
from webhooks.outbox.shares import Slots
from webhooks.outbox.waiting import Waiting

NO_LIMIT = 2_000_000_000  # requests an hour


def arrange(forms: list[list[str]], recipients: list[str]) -> dict[str, Any]:
    """Return the organization's slug and key, its forms' ids, and its webhooks. `forms` has each form's URLs."""
    owner = User.objects.create_user(f"{secrets.token_hex(8)}@example.com")
    organization = create_organization(name=f"Faults {secrets.token_hex(6)}", owner=owner, plan=Plan.ENTERPRISE)
    organization.rate_limit = NO_LIMIT
    organization.save()
    _, key = issue_key(organization=organization, name="Faults", by=None, admin=True)
    made: dict[str, Any] = {"slug": organization.slug, "key": key, "forms": [], "webhooks": []}
    for number, urls in enumerate(forms):
        status = Form.Status.PUBLISHED
        form = create_form(
            organization=organization, name=f"Form {number}", status=status, notification_recipients=recipients
        )
        for address in recipients:
            Recipient.objects.get_or_create(form=form, email=address, defaults={"confirmed_at": now()})
        made["forms"].append(form.public_id)
        for url in urls:
            webhook = Receiver.objects.create(
                organization=form.organization, form=form, url=url, events=["submission.created"]
            )
            seen = {"id": webhook.public_id, "form": form.public_id, "url": url, "secret": webhook.secret}
            made["webhooks"].append(seen)
    return made


def main(spec: str) -> None:
    """Arrange what this JSON describes."""
    print(json.dumps(arrange(**json.loads(spec))))


def add_finished(rows: int) -> None:
    """Add finished deliveries, as copies of one that was delivered. Without triggers: the copies keep its keys."""
    (pk,) = Delivery.objects.filter(status=Delivery.Status.DELIVERED).values_list("pk", flat=True)[:1]
    own = ("id", "submission_id", "key")
    names = ", ".join(str(field.column) for field in Delivery._meta.local_concrete_fields if field.column not in own)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # foreign keys are triggers
        cursor.execute(
            f"INSERT INTO webhooks_delivery (id, {names}) SELECT lpad(to_hex(n), 32, '0')::uuid, {names} "
            "FROM webhooks_delivery, generate_series(1, %s) n WHERE id = %s",
            [rows, pk],
        )
        cursor.execute("RESET session_replication_role")
        cursor.execute("ANALYZE webhooks_delivery")


def time_polls(repeats: int) -> None:
    """Print the quickest run of each poll of a deliverer with nothing to do, in seconds: `{name: seconds}`."""
    polls = {
        "due": lambda: Waiting().candidates(Slots(128, 16)),
        "abandoned": free_abandoned,
        "undispatched": dispatch_batch,
    }
    # The quickest: others are slow because of the machine, not because of the query.
    seen = {name: min(timeit.repeat(poll, number=1, repeat=repeats)) for name, poll in polls.items()}
    print(json.dumps(seen))


def fill(forms: list[str], count: int) -> None:
    """Store submissions that wait for dispatch, to the forms in turn."""
    rows = list(Form.objects.filter(pk__in=[decode_id(Prefix.FORM, form) for form in forms]))
    Submission.objects.bulk_create(
        (
            Submission(
                organization_id=form.organization_id,
                form=form,
                data={"number": str(number)},
                search_text="",
                created_at=now(),
            )
            for number, form in zip(range(count), itertools.cycle(rows))
        ),
        batch_size=500,
    )
