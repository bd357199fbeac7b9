"""Claims that end without a result, and the heartbeat that keeps them (docs/adr/0109)."""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Callable, Collection

import pytest
from django.db import OperationalError
from django.db.models.functions import Now
from pytest_django import Settings

from tests.services.waiting import eventually
from tests.unit.webhooks.outbox.backlogs import expire_leases, make_backlog
from tests.unit.webhooks.rows import CANCELED, FAILED, OK, claim_due, make_deliveries, result, totals
from webhooks.models import IN_FLIGHT, Attempt, DelivererSlots, Delivery, Receiver
from webhooks.outbox.abandoned import free_abandoned
from webhooks.outbox.claim import Claim, Claimer
from webhooks.outbox.heartbeat import Heartbeat
from webhooks.outbox.record import record
from webhooks.outbox.retry_schedule import DELAYS
from webhooks.outbox.shares import SUSPECTS, Slots

pytestmark = pytest.mark.django_db
ATTEMPTS = len(DELAYS) + 1


def readable(probe: Callable[[], bool]) -> Callable[[], bool]:
    """Return a probe that is false while another thread writes: SQLite in memory refuses readers then."""

    def probe_once() -> bool:
        try:
            return probe()
        except OperationalError:
            return False

    return probe_once


def lose() -> int:
    """End all leases without a result, as a process that is killed does, and free them."""
    expire_leases()
    return free_abandoned()


def lose_twice() -> None:
    """Lose the one delivery as often as it is free."""
    for _ in range(2):
        assert len(claim_due(1)) == 1
        lose()


def heartbeat(*claims: Claim) -> Heartbeat:
    """Return one that holds these, without its thread."""
    beat = Heartbeat(Slots(7, 3))
    beat._held.update(claim.token for claim in claims)
    return beat


def make_due() -> None:
    """Let the schedule and the circuit pass."""
    Delivery.objects.filter(status="pending").update(next_attempt_at=Now())
    Receiver.objects.update(probe_at=None)


@pytest.mark.parametrize("losses", [0, 1])
def test_first_two_losses__are_no_attempt_and_it_is_due_as_before(losses: int) -> None:
    make_deliveries(1)
    Delivery.objects.update(lost_claims=losses)
    before = Delivery.objects.values("status", "attempt_count", "next_attempt_at").get()
    claim_due(1)
    assert lose() == 1
    row = Delivery.objects.get()
    assert Delivery.objects.values("status", "attempt_count", "next_attempt_at").get() == before
    assert (row.lost_claims, row.lease_token, row.lease_until) == (losses + 1, None, None)
    assert not Attempt.objects.exists()
    assert [claim.delivery.pk for claim in claim_due(1)] == [row.pk]


def test_free__leases_that_run__are_left_alone_and_so_are_rows_without_one() -> None:
    make_deliveries(2, webhooks=2)
    (claim,) = claim_due(1)
    assert free_abandoned() == 0
    assert Delivery.objects.get(lease_token__isnull=False).lease_token == claim.token
    assert not Delivery.objects.exclude(lost_claims=0).exists()


def test_third_loss__is_an_attempt_with_an_internal_error_and_no_failure_of_the_endpoint() -> None:
    (webhook,) = make_deliveries(1)
    health = ("failing_since", "failure_count", "in_flight_limit", "probe_at")
    Receiver.objects.update(failure_count=9, in_flight_limit=8)  # one failure more would open the circuit
    before = Receiver.objects.values(*health).get()
    lose_twice()
    claim_due(1)
    assert lose() == 1
    row, attempt = Delivery.objects.get(), Attempt.objects.get()
    assert (row.status, row.attempt_count, row.lost_claims, row.lease_token) == ("pending", 1, 3, None)
    assert (attempt.status, attempt.error) == (None, "internal_error")
    assert row.next_attempt_at is not None
    assert Delivery.objects.filter(next_attempt_at__gt=Now()).exists()  # by the schedule
    assert Receiver.objects.values(*health).get(pk=webhook.pk) == before
    assert claim_due(10) == []


def test_poison__kills_each_process__ends_as_failed_after_all_attempts() -> None:
    make_deliveries(1)
    lose_twice()
    Receiver.objects.update(failing_since=Now() - dt.timedelta(days=6))  # so ten failures would disable it
    for count in range(1, ATTEMPTS + 1):
        make_due()
        assert Delivery.objects.get().status == "pending"
        assert len(claim_due(1)) == 1
        lose()
        assert Delivery.objects.get().attempt_count == count
    row = Delivery.objects.get()
    assert ATTEMPTS == 11
    assert (row.status, row.attempt_count, row.next_attempt_at) == ("failed", ATTEMPTS, None)
    assert Attempt.objects.count() == ATTEMPTS
    assert totals()["failed"] == 1
    assert Receiver.objects.values_list("status", "failure_count").get() == ("active", 0)
    make_due()
    assert claim_due(10) == []


def run_process(poison: Collection[uuid.UUID]) -> bool:
    """Send as one process does until nothing is due; False when one of these deliveries has killed it."""
    claimer = Claimer(Slots(1000, 1000))
    while claims := claimer.claim(Slots(100, 100)):
        if any(claim.delivery.pk in poison for claim in claims):
            return False
        record([result(claim, OK) for claim in claims])
        for claim in claims:
            claimer.release(claim)
    return True


@pytest.mark.parametrize("poisonous", [1, 2])
def test_neighbors__claimed_with_poisonous_ones__lose_no_attempt(poisonous: int) -> None:
    make_deliveries(40, webhooks=40)
    poison = set(Delivery.objects.order_by("?").values_list("pk", flat=True)[:poisonous])
    others, deaths = Delivery.objects.exclude(pk__in=poison), 0
    while Delivery.objects.filter(status="pending").exists():
        make_due()
        if not run_process(poison):
            deaths += 1
            lose()
            assert not others.exclude(attempt_count__lte=1).exists()
    assert set(others.values_list("status", "attempt_count", "lost_claims")) == {("delivered", 1, 0)}
    assert set(Delivery.objects.filter(pk__in=poison).values_list("status", "attempt_count")) == {("failed", ATTEMPTS)}
    assert deaths <= (2 + ATTEMPTS) * poisonous
    assert Attempt.objects.count() == 40 - poisonous + ATTEMPTS * poisonous


@pytest.mark.parametrize("losses", [1, 2, 3])
def test_lost_before__few_are_in_flight_in_one_process__and_others_pass_them(losses: int) -> None:
    most = SUSPECTS if losses == 1 else 1
    for webhook in make_deliveries(2, webhooks=2):
        make_backlog(webhook, 2 * SUSPECTS, lost_claims=losses)
    Delivery.objects.filter(lost_claims=0).update(next_attempt_at=Now())
    Receiver.objects.update(in_flight_limit=32)
    claimer = Claimer(Slots(1000, 1000))
    claims = claimer.claim(Slots(100, 100))
    assert Counter(claim.delivery.lost_claims for claim in claims) == {losses: most, 0: 2}
    assert claimer.claim(Slots(100, 100)) == []
    assert len(Claimer(Slots(1000, 1000)).claim(Slots(100, 100))) == most  # another process dies without this one
    sent = next(claim for claim in claims if claim.delivery.lost_claims)
    record([result(sent, OK)])
    claimer.release(sent)
    assert [claim.delivery.lost_claims for claim in claimer.claim(Slots(100, 100))] == [losses]


def test_lost_before__process_that_takes_no_suspects__claims_only_others() -> None:
    make_deliveries(3, webhooks=3)
    Delivery.objects.filter(pk__in=Delivery.objects.values("pk")[:2]).update(lost_claims=1)
    claimer = Claimer(Slots(1000, 1000))
    claimer.takes_suspects = False
    assert [claim.delivery.lost_claims for claim in claimer.claim(Slots(100, 100))] == [0]
    claimer.takes_suspects = True
    assert [claim.delivery.lost_claims for claim in claimer.claim(Slots(100, 100))] == [1, 1]


@pytest.mark.parametrize("outcome", [OK, FAILED, CANCELED])
def test_result__resets_the_losses(outcome: object) -> None:
    make_deliveries(1)
    lose_twice()
    (claim,) = claim_due(1)
    record([result(claim, outcome)])  # type: ignore[arg-type]  # an outcome
    assert Delivery.objects.get().lost_claims == 0


def test_free__two_sweeps__count_a_loss_once() -> None:
    make_deliveries(1)
    for losses, attempts in ((1, 0), (2, 0), (3, 1)):
        assert len(claim_due(1)) == 1
        assert (lose(), free_abandoned(), free_abandoned()) == (1, 0, 0)
        assert (Delivery.objects.get().lost_claims, Attempt.objects.count()) == (losses, attempts)


def test_leases_of_the_dead__take_no_place_of_an_endpoint_a_host_or_an_organization() -> None:
    (webhook,) = make_deliveries(1)
    make_backlog(webhook, 20)
    assert len(claim_due(20)) == IN_FLIGHT
    assert claim_due(20) == []
    expire_leases()
    # Before any sweep, and with so few slots that a share would show too.
    assert len(Claimer(Slots(IN_FLIGHT * 2, 1)).claim(Slots(20, 1))) == IN_FLIGHT


def test_process_that_stands_still__loses_its_result_and_its_successors_counts() -> None:
    make_deliveries(1)
    (frozen,) = claim_due(1)
    lose()
    (second,) = claim_due(1)
    record([result(frozen, OK)])
    assert Delivery.objects.get().lease_token == second.token
    assert totals()["delivered"] == 0
    record([result(second, OK)])
    record([result(frozen, FAILED)])
    row = Delivery.objects.get()
    assert (row.status, row.attempt_count) == ("delivered", 1)
    assert (totals()["delivered"], totals()["failed"]) == (1, 0)


def test_heartbeat__renews_what_it_holds_and_nothing_after_release(settings: Settings) -> None:
    settings.DELIVERY_LEASE_SECONDS = 60
    make_deliveries(2, webhooks=2)
    (mine,), (other,) = claim_due(1), claim_due(1)
    Delivery.objects.update(lease_until=Now() + dt.timedelta(seconds=5))
    beat = heartbeat(mine)
    beat.renew()
    soon = Now() + dt.timedelta(seconds=30)
    assert set(Delivery.objects.filter(lease_until__gt=soon).values_list("pk", flat=True)) == {mine.delivery.pk}
    assert DelivererSlots.objects.values_list("slots", "mail_slots").get() == (7, 3)
    beat.release([mine.token])
    Delivery.objects.update(lease_until=Now() + dt.timedelta(seconds=5))
    beat.renew()
    assert not Delivery.objects.filter(lease_until__gt=soon).exists()
    assert Delivery.objects.filter(lease_token=other.token).exists()


def test_heartbeat__of_a_claim_with_several__ends_with_the_last_of_them() -> None:
    make_deliveries(3, webhooks=3)
    claims = claim_due(3)
    beat = heartbeat(*claims)
    beat.release([claim.token for claim in claims[:2]])
    record([result(claim, OK) for claim in claims[:2]])
    expire_leases()
    beat.renew()
    assert free_abandoned() == 0
    assert Delivery.objects.filter(lease_until__gt=Now()).get().pk == claims[2].delivery.pk


def test_heartbeat__lease_that_was_freed_meanwhile__is_not_taken_back() -> None:
    make_deliveries(1)
    (claim,) = claim_due(1)
    beat = heartbeat(claim)
    lose()
    beat.renew()
    assert Delivery.objects.values_list("lease_token", "lease_until").get() == (None, None)


@pytest.mark.django_db(transaction=True)
def test_heartbeat__in_its_thread__keeps_a_short_lease_and_signs_off_at_its_end(settings: Settings) -> None:
    settings.DELIVERY_LEASE_SECONDS = 1
    make_deliveries(1)
    (claim,) = claim_due(1)
    first = Delivery.objects.get().lease_until
    beat = Heartbeat(Slots(2, 1))
    beat.hold([claim.token])
    try:
        eventually(readable(lambda: (Delivery.objects.get().lease_until or first) != first), because="it is renewed")
        eventually(readable(DelivererSlots.objects.exists), because="the process is on the list")
    finally:
        beat.end()
    assert not DelivererSlots.objects.exists()
    expire_leases()
    assert free_abandoned() == 1  # nobody renews it now


def test_slots__of_living_processes__are_those_that_shares_are_parts_of() -> None:
    (webhook,) = make_deliveries(1)
    make_backlog(webhook, 20)
    Receiver.objects.update(in_flight_limit=32)

    def other_process(slots: int, *, seconds: int) -> None:
        until = Now() + dt.timedelta(seconds=seconds)
        DelivererSlots.objects.create(pk=uuid.uuid4(), name="another", slots=slots, mail_slots=1, alive_until=until)

    other_process(1000, seconds=-1)
    assert len(Claimer(Slots(4, 1)).claim(Slots(20, 1))) == 4
    other_process(10, seconds=60)
    assert len(Claimer(Slots(4, 1)).claim(Slots(20, 1))) == 5  # nine of ten, four of them in flight
