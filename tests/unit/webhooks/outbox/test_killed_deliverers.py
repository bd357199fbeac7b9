"""Real processes of `manage.py deliver`, killed with SIGKILL or by the delivery that they send (docs/adr/0109)."""

import dataclasses
import functools
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.db.models.functions import Now

from tests.services.processes import Process
from tests.services.receivers import Receiver, Reply
from tests.services.waiting import eventually
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.kinds.sending import make_destination
from tests.unit.webhooks.kinds.sending import owe as send_to_destinations
from tests.unit.webhooks.outbox.backlogs import make_backlog
from tests.unit.webhooks.outbox.poison import POISON
from tests.unit.webhooks.rows import make_form, make_submission, make_webhook, totals
from tests.unit.webhooks.side_by_side import shared_database
from webhooks.models import Attempt, Delivery, Message
from webhooks.models import Receiver as ReceiverRow
from webhooks.outbox.retry_schedule import DELAYS

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
LEASE_SECONDS = 3.0  # for which no living process may pause
SWEEP_SECONDS = LEASE_SECONDS / 5
BUSY_SECONDS = 10.0  # in which a machine that runs other suites gets round to a sweep
PATIENCE = 90.0  # for everything that is not measured
ATTEMPTS = len(DELAYS) + 1


@dataclasses.dataclass
class Deliverers:
    """Starts `manage.py deliver` over the test's database."""

    directory: Path
    started: list[Process] = dataclasses.field(default_factory=list)

    def start(self, *options: str, settings: str = "config.settings", lease_seconds: float = LEASE_SECONDS) -> Process:
        environment = {
            **os.environ,
            "DATABASE_URL": _database_url(),
            "DJANGO_SETTINGS_MODULE": settings,
            "DELIVERY_LEASE_SECONDS": str(lease_seconds),
            "DELIVERY_CONCURRENCY": "16",
        }
        log = self.directory / f"deliverer-{len(self.started)}.log"
        command = [sys.executable, "manage.py", "deliver", *options]
        self.started.append(Process("deliverer", command, log=log, env=environment))
        return self.started[-1]

    def stop(self) -> None:
        for process in self.started:
            process.stop()


def _database_url() -> str:
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{settings['NAME']}"
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{settings['NAME']}").geturl()


@pytest.fixture
def deliverers(transactional_db: None, tmp_path: Path) -> Iterator[Deliverers]:  # noqa: ARG001  # open before it is copied
    with shared_database(tmp_path):
        made = Deliverers(tmp_path)
        try:
            yield made
        finally:
            made.stop()


def owe(receiver: Receiver, webhooks: int, of_each: int) -> int:
    """Store submissions with due deliveries to several webhooks of one receiver; return the number of deliveries."""
    for number in range(webhooks):
        form = make_form()
        make_webhook(form, url=receiver.url(f"/{number}"))
        for _ in range(of_each):
            make_submission(form)
    dispatch_all()
    return webhooks * of_each


def are_delivered(count: int) -> bool:
    return Delivery.objects.filter(status="delivered").count() == count


def test_deliverer__killed_while_a_receiver_is_slow__another_delivers_everything_after_lease_and_sweep(
    deliverers: Deliverers, receiver: Receiver
) -> None:
    receiver.reply = Reply(delay=120)
    count = owe(receiver, 4, 2)
    first = deliverers.start()
    receiver.wait_for(count, PATIENCE)
    with Receiver() as quick:
        owe(quick, 1, 1)
        second = deliverers.start()
        quick.wait_for(1, PATIENCE)  # so it is running
    eventually(lambda: are_delivered(1), PATIENCE, "and has recorded that")
    receiver.reply = Reply()
    first.kill()
    killed = time.monotonic()
    held = Delivery.objects.filter(lost_claims=0, status="pending")
    eventually(lambda: not held.exists(), PATIENCE, "all that it held is free")
    assert time.monotonic() - killed < LEASE_SECONDS + SWEEP_SECONDS + BUSY_SECONDS
    eventually(lambda: are_delivered(count + 1), PATIENCE, "everything is delivered")
    ids = Counter(one.headers["webhook-id"] for one in receiver.requests)
    assert set(ids.values()) == {2}  # by the dead process, which recorded nothing, and by the other one
    assert len(ids) == count
    assert set(Delivery.objects.values_list("attempt_count", "lost_claims")) == {(1, 0)}
    assert (Attempt.objects.count(), totals()["delivered"]) == (count + 1, count + 1)
    assert second.running


def test_deliverer__killed_while_destinations_are_slow__another_delivers_everything(
    deliverers: Deliverers, receiver: Receiver
) -> None:
    receiver.reply = Reply(delay=120)
    for number in range(2):
        form = make_form()
        make_destination(form, "ntfy", {"url": receiver.url(f"/topic{number}")})
        send_to_destinations(form, 3)
    first = deliverers.start()
    receiver.wait_for(2, PATIENCE)  # one at a time to each
    receiver.reply = Reply()
    first.kill()
    deliverers.start()
    eventually(lambda: are_delivered(6), PATIENCE, "everything is delivered")
    clicks = Counter(json.loads(one.body)["click"] for one in receiver.requests)
    assert sorted(clicks.values()) == [1, 1, 1, 1, 2, 2]  # twice only those in flight
    assert set(ReceiverRow.objects.values_list("status", flat=True)) == {"active"}


def test_deliverer__has_just_started__sends_no_delivery_whose_claim_was_lost(
    deliverers: Deliverers, receiver: Receiver
) -> None:
    lost = make_backlog(make_webhook(make_form(), url=receiver.url("/lost")), 2, lost_claims=1)
    deliverers.start(lease_seconds=4000)  # three quarters of it are longer than this test
    for delivered in (1, 2):  # so it has looked for deliveries after the first one
        owe(receiver, 1, 1)
        eventually(functools.partial(are_delivered, delivered), PATIENCE, "others are delivered")
    assert [one.path for one in receiver.requests] == ["/0", "/0"]
    deliverers.stop()
    deliverers.start()
    eventually(lambda: are_delivered(2 + len(lost)), PATIENCE, "the lost ones are delivered after the wait")


def test_poison__kills_whatever_sends_it__fails_in_the_end_and_its_neighbors_are_delivered(
    deliverers: Deliverers, receiver: Receiver
) -> None:
    form = make_form()
    bad, good = (make_webhook(form, url=receiver.url(path)) for path in ("/bad", "/good"))
    (poison,) = make_backlog(bad, 1, attempt_count=ATTEMPTS - 2)
    Message.objects.update(body=f'{{"text": "{POISON}"}}')
    neighbors = make_backlog(good, 3)

    def has_died(process: Process) -> bool:
        Delivery.objects.filter(status="pending", next_attempt_at__gt=Now()).update(next_attempt_at=Now())
        return not process.running

    for attempts in (0, 0, 0, 1):  # before: the first two losses are free, and the last one is recorded by the next
        process = deliverers.start(settings="tests.unit.webhooks.outbox.poison")
        eventually(functools.partial(has_died, process), PATIENCE, "the poisonous delivery has killed it")
        assert process.popen.returncode == -signal.SIGKILL
        assert Delivery.objects.get(pk=poison.pk).attempt_count == ATTEMPTS - 2 + attempts
    last = deliverers.start(settings="tests.unit.webhooks.outbox.poison")
    own = Delivery.objects.filter(pk__in=[each.pk for each in neighbors])
    failed = Delivery.objects.filter(pk=poison.pk, status="failed")
    eventually(failed.exists, PATIENCE, "the poisonous delivery has failed")
    eventually(lambda: not own.exclude(status="delivered").exists(), PATIENCE, "the others are delivered")
    assert set(own.values_list("attempt_count", "lost_claims")) == {(1, 0)}
    assert {one.path for one in receiver.requests} == {"/good"}
    errors = Attempt.objects.filter(delivery=poison.pk).values_list("error", flat=True)
    assert list(errors) == ["internal_error"] * 2
    assert ReceiverRow.objects.get(pk=bad.pk).failure_count == 0
    assert last.running
