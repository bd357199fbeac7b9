"""Deleting a webhook or a submission while dispatch or a worker is about to write in its log."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.deletion import Collector

from submissions.lifecycle.spam_marks import delete_submissions
from submissions.models import Submission
from tests.unit.webhooks.dispatching import dispatch_all, write_before
from tests.unit.webhooks.rows import (
    OK,
    claim_due,
    claim_one,
    make_deliveries,
    make_form,
    make_submission,
    make_webhook,
    result,
    submission_of,
)
from tests.unit.webhooks.side_by_side import Meanwhile, shared_database
from webhooks.models import Attempt, Delivery, Receiver
from webhooks.outbox.claim import Claim
from webhooks.outbox.heartbeat import Heartbeat
from webhooks.outbox.record import record
from webhooks.outbox.shares import Slots
from webhooks.receivers.actions import delete_receiver


@pytest.fixture(autouse=True)
def shared(transactional_db: None, tmp_path: Path) -> Iterator[None]:  # noqa: ARG001  # open before it is copied
    with shared_database(tmp_path):
        yield


def during_deletion(monkeypatch: pytest.MonkeyPatch, meanwhile: Meanwhile) -> None:
    """Begin something else when a deletion knows what it deletes, and has not done it."""
    real = Collector.delete

    def delete(self: Collector) -> Any:
        meanwhile.begin()
        return real(self)

    monkeypatch.setattr(Collector, "delete", delete)


def test_delete_webhook__dispatch_begins_meanwhile__both_succeed(monkeypatch: pytest.MonkeyPatch) -> None:
    form = make_form()
    doomed, other = make_webhook(form), make_webhook(form)
    make_submission(form)
    dispatching = Meanwhile(dispatch_all)
    during_deletion(monkeypatch, dispatching)
    delete_receiver(doomed)
    dispatching.end()
    dispatch_all()
    assert not Submission.objects.undispatched().exists()
    assert [delivery.webhook_id for delivery in Delivery.objects.all()] == [other.pk]


def test_dispatch__webhook_deleted_meanwhile__tells_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    form = make_form()
    doomed, other = make_webhook(form), make_webhook(form)
    make_submission(form)
    deleting = Meanwhile(lambda: delete_receiver(doomed))

    write_before(monkeypatch, lambda _: deleting.begin())
    dispatch_all()
    deleting.end()
    assert not Submission.objects.undispatched().exists()
    assert [delivery.webhook_id for delivery in Delivery.objects.all()] == [other.pk]
    assert list(Receiver.objects.all()) == [other]


@pytest.mark.parametrize("what", ["webhook", "submission"])
def test_delete__a_worker_records_meanwhile__both_succeed(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    (webhook,) = make_deliveries(1)
    claim = claim_one()
    recording = Meanwhile(lambda: record([result(claim, OK)]))
    during_deletion(monkeypatch, recording)
    if what == "webhook":
        delete_receiver(webhook)
    else:
        delete_submissions([submission_of(claim.delivery).pk])
    recording.end()
    assert not Delivery.objects.exists()
    assert not Attempt.objects.exists()


@pytest.mark.parametrize("what", ["webhook", "submission"])
def test_record__what_it_writes_about_is_deleted_meanwhile__both_succeed(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    (webhook,) = make_deliveries(1)
    claim = claim_one()
    pk = submission_of(claim.delivery).pk
    deleting = Meanwhile(lambda: delete_receiver(webhook) if what == "webhook" else delete_submissions([pk]))
    real = Attempt.objects.bulk_create

    def insert_and_wait(attempts: Any) -> Any:
        made = real(attempts)
        deleting.begin()  # sees the delivery, and not yet its attempt
        return made

    monkeypatch.setattr(Attempt.objects, "bulk_create", insert_and_wait)
    record([result(claim, OK)])
    deleting.end()
    assert not Delivery.objects.exists()
    assert not Attempt.objects.exists()


def lock(pk: uuid.UUID) -> None:
    assert Delivery.objects.select_for_update().get(pk=pk)


def test_deletion__leases_are_renewed_meanwhile__waits_without_a_deadlock() -> None:
    make_deliveries(2)
    beat = Heartbeat(Slots(7, 3))
    beat._held.update(claim.token for claim in claim_due(2))
    first, second = Delivery.objects.order_by("pk").values_list("pk", flat=True)
    Delivery.objects.filter(pk=first).update(lost_claims=0)  # PostgreSQL writes it again, behind the second
    before = set(Delivery.objects.values_list("lease_until", flat=True))
    renewing = Meanwhile(beat.renew)
    with transaction.atomic():
        lock(first)
        renewing.begin()
        lock(second)
    renewing.end()
    assert before.isdisjoint(Delivery.objects.values_list("lease_until", flat=True))


def test_deletion__holds_a_delivery__others_are_claimed_meanwhile() -> None:
    has_row_locks = connection.features.has_select_for_update
    make_deliveries(2)
    first, second = Delivery.objects.order_by("pk").values_list("pk", flat=True)
    claims: list[Claim] = []
    claiming = Meanwhile(lambda: claims.extend(claim_due(2)))
    with transaction.atomic():
        lock(first)
        claiming.begin()
        if has_row_locks:
            claiming.end()
    claiming.end()
    # SQLite locks no rows: there the claim waits for the whole transaction, and finds both.
    assert {claim.delivery.pk for claim in claims} == ({second} if has_row_locks else {first, second})
