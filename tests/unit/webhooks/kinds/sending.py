"""Destinations as rows, and the rounds of a deliverer in the test's own thread."""

from typing import Any

from forms_app.models import Form
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import make_submission
from webhooks.kinds.registry import KINDS
from webhooks.models import Delivery, Receiver
from webhooks.outbox.claim import Claimer
from webhooks.outbox.record import record
from webhooks.outbox.send import Result, send
from webhooks.outbox.shares import Slots
from webhooks.receivers.destinations import add_destination


def make_destination(form: Form, kind: str, config: dict[str, Any], *, of_all: bool = False) -> Receiver:
    """Return an active destination of a form or of all forms of its organization."""
    read = KINDS[kind].read(config)
    only = None if of_all else form
    return add_destination(organization=form.organization, form=only, kind=kind, name="Team", config=read)


def to_http(form: Form, url: str, token: str = "old token") -> Receiver:
    """Return a destination of the kind with four requests at a time and no pace."""
    return make_destination(form, "http", http_config(url, token))


def http_config(url: str, token: str) -> dict[str, Any]:
    return {"url": url, "headers": {"X-Token": token}, "template": {"id": "{{ submission.id }}"}}


def owe(form: Form, count: int) -> None:
    """Store and dispatch so many submissions of a form."""
    for _ in range(count):
        make_submission(form)
    dispatch_all()


def send_due() -> list[Result]:
    """Claim due deliveries, mails left out, and send them; return the results, not recorded."""
    return [send(claim) for claim in Claimer(Slots(1000, 1000)).claim(Slots(64, 0))]


def deliver_due() -> int:
    """Send and record until nothing may be sent now; return how many attempts were made."""
    attempts = 0
    while results := send_due():
        record(results)
        attempts += len(results)
    return attempts


def statuses() -> list[str]:
    """Return the status of each delivery to a destination, oldest first."""
    return list(Delivery.objects.filter(channel="destination").order_by("id").values_list("status", flat=True))
