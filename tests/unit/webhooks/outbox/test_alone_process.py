"""The process that sends deliveries one by one: when a deliverer starts it, and its leases (docs/adr/0046)."""

import subprocess
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from pytest_django import Settings

from config.times import now
from tests.unit.webhooks.outbox.backlogs import expire_leases
from tests.unit.webhooks.rows import OK, claim_one, make_deliveries
from tests.unit.webhooks.side_by_side import shared_database
from webhooks.models import Delivery
from webhooks.outbox import alone
from webhooks.outbox.abandoned import CRASHED, free_abandoned
from webhooks.outbox.alone import BLOCKED, AloneDeliverer, AloneProcess
from webhooks.outbox.claim import Claim, Claimer
from webhooks.outbox.heartbeat import BEATS
from webhooks.outbox.record import record
from webhooks.outbox.send import Result
from webhooks.outbox.shares import Slots


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class Ended:
    """A process that has ended with a status."""

    def __init__(self, status: int) -> None:
        self.status = status

    def poll(self) -> int:
        return self.status


def starts(monkeypatch: pytest.MonkeyPatch, statuses: list[int]) -> list[float]:
    """Return the seconds at which processes are started, asked once a second, that end with these statuses."""
    clock, waiting, seen = Clock(), list(statuses), list[float]()

    def start(*_arguments: Any, **_options: Any) -> Ended:
        seen.append(clock.now)
        return Ended(waiting.pop(0))

    monkeypatch.setattr(alone, "time", clock)
    monkeypatch.setattr(alone, "is_needed", lambda: bool(waiting))
    monkeypatch.setattr(subprocess, "Popen", start)
    process = AloneProcess()
    while waiting:
        process.start_if_needed()
        clock.now += 1
    return seen


def test_process__that_could_send_nothing__is_started_again_after_longer_and_longer_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert starts(monkeypatch, [BLOCKED] * 9) == [0, 2, 5, 10, 19, 36, 67, 98, 129]


def test_process__that_sent_something__ends_the_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert starts(monkeypatch, [BLOCKED, BLOCKED, 0, BLOCKED, 0]) == [0, 2, 5, 6, 8]


class SlowClock(Clock):
    """Each sleep takes its time without anybody waiting for it."""

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def one_lost() -> None:
    """Leave a delivery whose claim has ended without a result."""
    make_deliveries(1)
    claim_one()
    expire_leases()
    assert free_abandoned() == 1


@pytest.fixture
def no_forks(monkeypatch: pytest.MonkeyPatch) -> list[Claim]:
    """Leave the claims where a child would be forked for each."""
    claims = list[Claim]()

    def hold(deliverer: AloneDeliverer, claim: Claim) -> None:
        deliverer._heartbeat.hold([claim.token], in_background=False)
        claims.append(claim)

    monkeypatch.setattr(AloneDeliverer, "_fork", hold)
    return claims


@pytest.mark.django_db
def test_leases__while_no_outcome_can_be_recorded__are_renewed_and_it_is_recorded_later(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, no_forks: list[Claim]
) -> None:
    clock, renewals = SlowClock(), list[float]()
    until = 3 * settings.DELIVERY_LEASE_SECONDS

    def record_at_last(results: Sequence[Result]) -> None:
        if clock.now < until:
            raise OperationalError("canceling statement due to lock timeout")
        record(results)

    one_lost()
    deliverer = AloneDeliverer(threading.Event())
    monkeypatch.setattr(alone, "time", clock)
    deliverer._step()
    (claim,) = no_forks
    deliverer._finished = [Result(claim, CRASHED, now(), "")]
    monkeypatch.setattr(alone, "record", record_at_last)
    monkeypatch.setattr(connection, "close", lambda: None)  # the test's transaction goes on
    monkeypatch.setattr(deliverer._heartbeat, "renew", lambda: renewals.append(clock.now))
    while deliverer._finished:
        deliverer._step(claims=False)

    gaps = [later - earlier for earlier, later in pairwise(renewals)]
    assert renewals[-1] >= until - 1
    assert max(gaps) <= settings.DELIVERY_LEASE_SECONDS / BEATS + 1  # the pause after an error
    assert Delivery.objects.get().lease_token is None


@pytest.mark.django_db
def test_end__with_an_outcome_that_cannot_be_recorded__tries_for_a_lease(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, no_forks: list[Claim]
) -> None:
    clock, tries = SlowClock(), list[float]()

    def never(_results: Sequence[Result]) -> None:
        tries.append(clock.now)
        raise OperationalError("the database system is shutting down")

    one_lost()
    deliverer = AloneDeliverer(threading.Event())
    deliverer._step()
    (claim,) = no_forks
    deliverer._finished = [Result(claim, CRASHED, now(), "")]
    deliverer._stop.set()
    monkeypatch.setattr(alone, "time", clock)
    monkeypatch.setattr(alone, "record", never)
    monkeypatch.setattr(connection, "close", lambda: None)

    assert deliverer.run() == 0
    assert settings.DELIVERY_LEASE_SECONDS - 2 <= tries[-1] <= settings.DELIVERY_LEASE_SECONDS


@pytest.mark.django_db
def test_claim__of_a_process_that_has_leases_to_renew__never_waits_for_the_lock_of_claims() -> None:
    one_lost()
    statements = list[str]()

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        statements.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(note):
        claimed = Claimer(alone=True).claim(Slots(1, 1))
    assert (len(claimed), [sql for sql in statements if "pg_advisory_xact_lock" in sql]) == (1, [])


@pytest.mark.django_db(transaction=True)
def test_child__that_reads_from_the_database__has_a_connection_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def read(claims: Sequence[Claim]) -> list[Result]:
        had_one = connection.connection is not None
        return [Result(claim, OK, now(), f"{had_one} {Delivery.objects.count()}") for claim in claims]

    seen, end = list[str](), time.monotonic() + 60
    monkeypatch.setattr(alone, "send", read)
    monkeypatch.setattr(alone, "record", lambda results: seen.extend(result.request for result in results))
    with shared_database(tmp_path):
        one_lost()
        deliverer = AloneDeliverer(threading.Event())
        session = connection.connection
        while not seen and time.monotonic() < end:
            deliverer._step(claims=not deliverer._children)
        assert (seen, Delivery.objects.count(), connection.connection is session) == (["False 1"], 1, True)
