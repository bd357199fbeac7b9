"""The audit trail of changes by the service itself: retention, and webhooks that are disabled or named by a page."""

import datetime as dt

import pytest

from config.base.ids import first_id_of
from config.base.times import now
from forms_app.models import Form
from keys.audit.reading import narrow, record, sentence, who
from keys.models import AuditEvent
from submissions.lifecycle import retention
from submissions.models import Submission
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import GONE, claim_one, make_deliveries, make_form, make_submission, make_webhook, result
from webhooks.channels.receiver_status import record_status
from webhooks.models import Receiver
from webhooks.outbox.record import record as record_results

pytestmark = pytest.mark.django_db


def make_old(form: Form, count: int) -> None:
    for hours in range(count):
        Submission.objects.filter(pk=make_submission(form).pk).update(
            id=first_id_of(now() - dt.timedelta(days=2, hours=hours))
        )


def events(action: str) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(action=action).order_by("pk"))


def test_retention__of_several_batches__is_one_event_of_each_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "ROWS_A_BATCH", 2)
    first, second, kept = (make_form(name=name, retention_days=1) for name in ("Contact", "Jobs", "New"))
    make_old(first, 5)
    make_old(second, 1)
    make_submission(kept)
    assert retention.purge_submissions() == 6
    assert retention.purge_submissions() == 0
    found = {(event.organization_ref, event.subject) for event in events("submissions.expired")}
    assert len(events("submissions.expired")) == 2
    assert found == {
        (first.organization_id, "5 submissions of Contact"),
        (second.organization_id, "1 submission of Jobs"),
    }


def test_event__of_the_service__names_it_and_no_operator() -> None:
    make_old(make_form(name="Contact", retention_days=1), 1)
    retention.purge_submissions()
    (event,) = events("submissions.expired")
    assert (who(event), *sentence(event)) == (
        "The service",
        "deleted at the end of their retention",
        "1 submission of Contact",
    )
    told = record(event)
    assert [told[name] for name in ("actor", "actorKind", "kind", "address")] == [
        "The service",
        "service",
        "submission",
        "",
    ]
    of_operators = narrow(AuditEvent.objects.all(), since=None, until=None, actor="operator", kind="")
    assert event not in of_operators


def test_webhook__disabled_by_the_service__is_recorded_with_the_reason() -> None:
    webhook = make_webhook(make_form(name="Contact"), status=Receiver.Status.DISABLED, disabled_reason="Gone.")
    record_status(webhook, "disabled", "active")
    (event,) = events("webhook.disabled")
    assert (event.actor, event.subject) == ("The service", f"{webhook.url} of Contact")
    assert event.changes == {"status": ["active", "disabled"], "reason": [None, "Gone."]}


def test_webhook__named_by_a_page__is_recorded_as_pending() -> None:
    webhook = make_webhook(make_form(name="Contact"), status=Receiver.Status.PENDING)
    record_status(webhook, "named", None)
    (event,) = events("webhook.named")
    assert (event.actor, event.organization_ref) == ("The service", webhook.organization_id)
    assert event.changes == {"status": [None, "pending"]}


def test_webhook__endpoint_is_gone__is_recorded_by_the_outbox() -> None:
    (webhook,) = make_deliveries(1)
    record_results([result(claim_one(), GONE)])
    (event,) = events("webhook.disabled")
    assert event.subject == f"{webhook.url} of {webhook.form}"


def test_webhook__page_names_a_new_url_twice__is_recorded_by_dispatch_once() -> None:
    form = make_form(name="Contact")
    for _ in range(2):
        make_submission(form, controls={"_webhook": "https://hooks.example.com/a"})
        dispatch_all()
    (event,) = events("webhook.named")
    assert event.subject == "https://hooks.example.com/a of Contact"
