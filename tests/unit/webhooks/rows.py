"""Forms, webhooks, submissions and deliveries as rows, and the outcomes of attempts."""

import itertools
import secrets
from typing import Any

from config.base.ids import made_at, new_id
from config.base.times import now
from forms_app.actions import create_form
from forms_app.models import Form, Recipient
from forms_app.sign_up import create_organization
from keys.models import User
from submissions.models import Submission, Tally
from submissions.search_text import search_text
from tests.unit.webhooks.dispatching import dispatch_all
from webhooks.models import Delivery, ErrorClass, Receiver
from webhooks.outbox.claim import Claim, Claimer
from webhooks.outbox.send import Result, send
from webhooks.outbox.shares import Slots
from webhooks.transport.outcome import Outcome

_numbers = itertools.count(1)

OK = Outcome(succeeded=True, status=200, duration_ms=12, error="", response_excerpt="thanks")
FAILED = Outcome(succeeded=False, status=500, duration_ms=34, error=ErrorClass.HTTP_ERROR.value, response_excerpt="no")
GONE = Outcome(succeeded=False, status=410, duration_ms=5, error=ErrorClass.HTTP_ERROR.value, gone=True)
REFUSED = Outcome(succeeded=False, status=550, duration_ms=5, error=ErrorClass.MAIL_REFUSED.value, permanent=True)
CANCELED = Outcome(succeeded=False, status=None, duration_ms=0, error=ErrorClass.CANCELED.value)
TOTALS = ("received", "kept", "spam", "delivered", "failed")


def make_form(**values: Any) -> Form:
    """Return a published form of a new organization, with the owner `owner_of`; its recipients have confirmed."""
    name = f"Test {next(_numbers)} {secrets.token_hex(4)}"
    organization = create_organization(name=name, owner=User.objects.create_user(f"{secrets.token_hex(8)}@example.com"))
    form = create_form(organization=organization, **{"name": "Contact", "status": Form.Status.PUBLISHED, **values})
    for address in form.notification_recipients:
        Recipient.objects.create(form=form, email=address.lower(), confirmed_at=now())
    return form


def owner_of(form: Form) -> User:
    return User.objects.get(memberships__organization=form.organization_id, memberships__role="owner")


def make_webhook(form: Form, **values: Any) -> Receiver:
    """Return an active webhook with its own URL, which nothing in these tests calls."""
    start = {"url": f"http://127.0.0.1:9/{next(_numbers)}", "events": ["submission.created"]}
    return Receiver.objects.create(organization=form.organization, form=form, **{**start, **values})


def make_webhook_of_all_forms(form: Form, **values: Any) -> Receiver:
    """Return an active webhook of all forms of a form's organization."""
    start = {"url": f"http://127.0.0.1:9/{next(_numbers)}", "events": ["submission.created"]}
    return Receiver.objects.create(organization=form.organization, **{**start, **values})


def form_of(webhook: Receiver) -> Form:
    """Return the form of a webhook that has one."""
    assert webhook.form is not None
    return webhook.form


def submission_of(delivery: Delivery) -> Submission:
    """Return the submission of a delivery that has one."""
    assert delivery.submission is not None
    return delivery.submission


def make_submission(form: Form, **values: Any) -> Submission:
    """Return a stored submission as `submissions.receiving.insert` writes it."""
    pk = new_id()
    start = {"data": {"message": "Hello"}, "controls": {}, "meta": {"ip": "192.0.2.1"}, "created_at": made_at(pk)}
    row = Submission(id=pk, organization_id=form.organization_id, form=form, **{**start, **values})
    row.search_text = search_text(list(row.data.values()))
    row.save(force_insert=True)
    return row


def make_deliveries(count: int, *, webhooks: int = 1) -> list[Receiver]:
    """Return webhooks, each on its own form, that share so many due deliveries evenly."""
    made = [make_webhook(make_form()) for _ in range(webhooks)]
    for number in range(count):
        make_submission(form_of(made[number % webhooks]))
    dispatch_all()
    assert Delivery.objects.due().count() == count
    return made


def claim_due(limit: int) -> list[Claim]:
    """Claim with room for so many webhooks and for so many mails, and so many slots that shares limit nothing."""
    return Claimer(Slots(1000, 1000)).claim(Slots(limit, limit))


def claim_one() -> Claim:
    (claim,) = claim_due(1)
    return claim


def send_one() -> Result:
    """Claim the one due delivery, send it and return the result."""
    return send(claim_one())


def result(claim: Claim, outcome: Outcome) -> Result:
    return Result(claim, outcome, now())


def totals() -> dict[str, int]:
    """Return the sum of all tallies."""
    rows = list(Tally.objects.values(*TOTALS))
    return {name: sum(row[name] for row in rows) for name in TOTALS}
