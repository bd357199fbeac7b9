"""The loop over dispatch and delivery: an unavailable database loses nothing, and one bad row stops no other."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from celery.signals import worker_process_init
from django.conf import settings
from django.db import IntegrityError, OperationalError

from tests.services.processes import ROOT
from tests.services.receivers import Receiver, Reply
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.outbox.backlogs import expire_leases
from tests.unit.webhooks.rows import claim_due, make_form, make_submission, make_webhook, totals
from webhooks import tasks
from webhooks.models import Attempt, Delivery
from webhooks.outbox import loop as deliverer
from webhooks.outbox.claim import Claim, Claimer
from webhooks.outbox.loop import Deliverer
from webhooks.outbox.record import record
from webhooks.outbox.send import Result
from webhooks.outbox.shares import Slots

pytestmark = pytest.mark.django_db(transaction=True)
# `manage.py deliver`, whose signal to end comes while the main thread holds the lock of the event that it waits for.
INTERRUPTED = """
import signal
import django
django.setup()
from django.core.management import call_command
from webhooks.outbox.loop import Deliverer

def run(self, **_):
    with self.stop._cond:
        signal.raise_signal(signal.SIGTERM)
    print("stopped" if self.stop.wait(60) else "still running")

Deliverer.run = run
call_command("deliver", once=True)
"""


def owe(receiver: Receiver, count: int) -> None:
    """Store submissions for a webhook at the receiver."""
    form = make_form()
    make_webhook(form, url=receiver.url())
    for _ in range(count):
        make_submission(form)


def failing_once(real: Callable[..., Any], error: Exception) -> Callable[..., Any]:
    """Return a function that raises at its first call and is the real one after that."""
    errors = [error]

    def call(*arguments: Any) -> Any:
        if errors:
            raise errors.pop()
        return real(*arguments)

    return call


def told_once(receiver: Receiver, count: int) -> bool:
    """Return whether the receiver got each message once and the tables say so too."""
    assert len(receiver.requests) == len({one.headers["webhook-id"] for one in receiver.requests}) == count
    assert list(Delivery.objects.values_list("status", "attempt_count")) == [("delivered", 1)] * count
    assert totals()["delivered"] == count
    return Attempt.objects.count() == count


def test_run__until_idle__dispatches_delivers_and_records(receiver: Receiver) -> None:
    owe(receiver, 10)
    assert Deliverer().run(until_idle=True) is False
    assert told_once(receiver, 10)


def test_run__until_idle__frees_lost_claims_and_sends_them(receiver: Receiver) -> None:
    owe(receiver, 3)
    dispatch_all()
    assert len(claim_due(2)) == 2
    expire_leases()
    assert Deliverer().run(until_idle=True) is False
    assert told_once(receiver, 3)


def test_run__before_it_may_send_suspects__sends_only_others(receiver: Receiver) -> None:
    owe(receiver, 3)
    dispatch_all()
    assert len(claim_due(2)) == 2
    expire_leases()
    assert Deliverer(suspects_from=float("inf")).run(until_idle=True) is False
    assert len(receiver.requests) == 1
    assert Deliverer().run(until_idle=True) is False
    assert told_once(receiver, 3)


def test_worker__its_process_has_just_started__sends_no_suspects(
    receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DELIVERY_LEASE_SECONDS = 4000.0  # three quarters of it are longer than any test
    monkeypatch.setattr(tasks, "_suspects_from", 0.0)
    owe(receiver, 3)
    dispatch_all()
    assert len(claim_due(2)) == 2
    expire_leases()
    worker_process_init.send(sender=None)
    tasks.deliver_due()
    tasks.deliver_due()
    assert len(receiver.requests) == 1
    monkeypatch.setattr(tasks, "_suspects_from", 0.0)
    tasks.deliver_due()
    assert told_once(receiver, 3)


@pytest.mark.parametrize(("place", "step"), [(deliverer, "record"), (deliverer, "dispatch_batch"), (Claimer, "claim")])
def test_run__database_away_once__keeps_the_results_and_goes_on(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, place: object, step: str
) -> None:
    monkeypatch.setattr(deliverer, "DATABASE_PAUSE_SECONDS", 0.01)
    away = OperationalError("the database system is starting up")
    monkeypatch.setattr(place, step, failing_once(getattr(place, step), away))
    owe(receiver, 3)
    Deliverer().run(until_idle=True)
    assert told_once(receiver, 3)


def test_run__one_result_cannot_be_recorded__the_others_are(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    owe(receiver, 3)
    dispatch_all()
    poison = Delivery.objects.order_by("id")[1].pk

    def refuse(results: Sequence[Result]) -> None:
        if any(result.claim.delivery.pk == poison for result in results):
            raise IntegrityError("this row cannot be recorded")
        record(results)

    monkeypatch.setattr(deliverer, "record", refuse)
    with caplog.at_level(logging.ERROR):
        Deliverer().run(until_idle=True)
    left = Delivery.objects.get(pk=poison)
    assert (left.status, left.lease_token is None) == ("pending", False)  # its lease brings it back
    others = Delivery.objects.exclude(pk=poison)
    assert list(others.values_list("status", "attempt_count")) == [("delivered", 1)] * 2
    assert str(poison) in caplog.text


def test_run__sending_raises__fails_like_any_other_attempt_and_stops_no_other(receiver: Receiver) -> None:
    form = make_form()
    poison = make_webhook(form, url=receiver.url("/poison"), secret="whsec_not base64")  # signing it raises
    make_webhook(form, url=receiver.url("/healthy"))
    make_submission(form)
    Deliverer().run(until_idle=True)
    (attempt,) = Attempt.objects.filter(delivery__receiver=poison)
    assert (attempt.status, attempt.error) == (None, "internal_error")
    assert poison.deliveries.get().status == "pending"
    assert [message.path for message in receiver.requests] == ["/healthy"]


def test_run__budget_is_spent__says_so_and_has_recorded_what_it_began(receiver: Receiver) -> None:
    receiver.reply = Reply(delay=0.3)
    owe(receiver, 8)
    assert Deliverer(slots=Slots(2, 1)).run(until_idle=True, budget_seconds=0.1) is True
    assert not Delivery.objects.filter(lease_token__isnull=False).exists()
    done = Delivery.objects.filter(status="delivered").count()
    assert done == len(receiver.requests) < 8
    Deliverer().run(until_idle=True)
    assert told_once(receiver, 8)


def test_stop__while_a_request_is_in_flight__waits_for_its_answer_and_records_it(receiver: Receiver) -> None:
    receiver.reply = Reply(delay=0.5)
    owe(receiver, 1)
    worker = Deliverer()

    def stop_at_the_first_request() -> None:
        receiver.wait_for(1)
        worker.stop.set()

    stopper = threading.Thread(target=stop_at_the_first_request)
    stopper.start()
    assert worker.run() is False
    stopper.join()
    assert told_once(receiver, 1)


def test_run__more_is_due_than_it_may_send_at_once__claims_no_more_than_it_starts(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        owe(receiver, 4)
    asked: list[tuple[Slots, int]] = []
    claim = Claimer.claim

    def claim_and_count(claimer: Claimer, room: Slots) -> list[Claim]:
        claims = claim(claimer, room)
        asked.append((room, Delivery.objects.filter(lease_token__isnull=False).count()))
        return claims

    monkeypatch.setattr(Claimer, "claim", claim_and_count)
    Deliverer(slots=Slots(3, 1)).run(until_idle=True)
    assert max(room.others for room, _ in asked) == 3
    assert max(leased for _, leased in asked) == 3
    assert told_once(receiver, 20)


@pytest.mark.slow
def test_deliver__whose_signal_comes_while_it_begins_to_wait__stops() -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": settings.SETTINGS_MODULE}
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "stopped\n", done.stderr
