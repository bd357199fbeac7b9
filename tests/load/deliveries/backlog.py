"""
The rows of the benchmarks of deliveries. Runs inside `manage.py shell`, in the service's own environment.

Submissions are stored in bulk and dispatched by the service's own code, so that every row has the columns that it
writes. Each function prints one line of JSON.
"""

import itertools
import json
import time
from collections.abc import Sequence

from config.base.times import now
from forms_app.actions import create_form
from forms_app.models import Form
from forms_app.sign_up import create_organization
from keys.models import Notice, User
from keys.plans import Plan
from submissions.models import Submission
from submissions.search_text import search_text
from tests.load.arrangement import FIELDS
from tests.load.request import BODY, USER_AGENT
from webhooks.models import Message
from webhooks.outbox.dispatch import dispatch_batch
from webhooks.receivers.registration import register_webhook

ROWS_A_STATEMENT = 1_000


def arrange_due(*, urls: Sequence[str], organizations: int, deliveries: int) -> None:
    """
    Make a form with one webhook for each URL, and so many due deliveries, the same number for each.

    Prints `{"body"}`, the body of one of the messages.
    """
    owners = [_organization(f"due-{time.time_ns()}-{number}") for number in range(organizations)]
    forms = [_form(name, [url]) for url, name in zip(urls, itertools.cycle(owners), strict=False)]
    _store(forms, deliveries)
    _dispatch()
    message = Message.objects.exclude(body="").first()
    assert message is not None
    print(json.dumps({"body": message.body}))


def arrange_undispatched(*, urls: Sequence[str], submissions: int) -> None:
    """Make one form with all these webhooks, and so many submissions that no dispatch has seen. Prints `{}`."""
    _store([_form(_organization(f"new-{time.time_ns()}"), urls)], submissions)
    print(json.dumps({}))


def dispatch() -> None:
    """Dispatch everything, as the deliverer does. Prints `{"seconds", "rows"}`."""
    start = time.monotonic()
    rows = _dispatch()
    print(json.dumps({"seconds": time.monotonic() - start, "rows": rows}))


def _dispatch() -> int:
    rows = 0
    while taken := dispatch_batch():
        rows += taken
    return rows


def _organization(name: str) -> str:
    owner = User.objects.create_user(f"{name}@example.com")
    return create_organization(name=name, owner=owner, plan=Plan.ENTERPRISE).slug


def _form(organization: str, urls: Sequence[str]) -> Form:
    form = Form.objects.get(organization__slug=organization, is_default=True)
    made = create_form(
        organization=form.organization, name="Orders", status=Form.Status.PUBLISHED, fields=[dict(f) for f in FIELDS]
    )
    for url in urls:
        register_webhook(organization=made.organization, form=made, url=url, events=["submission.created"])
    Notice.objects.all().delete()  # the owners' mails are not measured
    return made


def _store(forms: Sequence[Form], count: int) -> None:
    values = {name: str(value) for name, value in json.loads(BODY).items()}
    meta = {"ip": "127.0.0.1", "userAgent": USER_AGENT, "origin": None, "referer": None}
    text = search_text(list(values.values()))
    rows = (
        Submission(
            organization_id=form.organization_id, form=form, data=values, search_text=text, meta=meta, created_at=now()
        )
        for form in itertools.islice(itertools.cycle(forms), count)
    )
    Submission.objects.bulk_create(rows, batch_size=ROWS_A_STATEMENT)
