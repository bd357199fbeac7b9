"""The circuit of an endpoint and its limit of requests in flight (docs/adr/0047)."""

import dataclasses
import datetime as dt

import pytest
from django.db.models import F
from django.db.models.functions import Now

from config.base.times import now
from tests.unit.webhooks.outbox.backlogs import let_pass, make_backlog
from tests.unit.webhooks.rows import FAILED, OK, REFUSED, claim_due, claim_one, form_of, make_form, make_webhook, result
from webhooks.channels.webhook import MOST_IN_FLIGHT, PROBE_EVERY
from webhooks.models import IN_FLIGHT, Delivery, Receiver
from webhooks.outbox.claim import Claim, Claimer
from webhooks.outbox.record import record
from webhooks.outbox.retry_schedule import DELAYS
from webhooks.outbox.shares import Slots
from webhooks.outbox.waiting import OLDEST
from webhooks.receivers.actions import send_test
from webhooks.receivers.registration import change_webhook
from webhooks.transport.outcome import Outcome

pytestmark = pytest.mark.django_db
SLOW = dataclasses.replace(OK, duration_ms=500)
WAITING = 20
FAILURES = 10  # in a row; then the circuit is open


@pytest.fixture
def webhook() -> Receiver:
    """Return a webhook with due deliveries."""
    made = make_webhook(make_form())
    make_backlog(made, WAITING)
    return made


def fail(times: int) -> None:
    """Record so many failures, of one delivery each."""
    for _ in range(times):
        record([result(claim_due(1)[0], FAILED)])


def claim_one_of(room: int) -> Claim:
    """Claim the only one that may be claimed, with more room."""
    (claim,) = claim_due(room)
    return claim


def open_circuit() -> None:
    fail(FAILURES)


def state_of(webhook: Receiver) -> Receiver:
    return Receiver.objects.select_related("form").get(pk=webhook.pk)


def is_open(webhook: Receiver) -> bool:
    return state_of(webhook).probe_at is not None


def attempts() -> int:
    return sum(Delivery.objects.values_list("attempt_count", flat=True))


def test_circuit__ten_failures_in_a_row__opens_it_and_nine_do_not(webhook: Receiver) -> None:
    fail(FAILURES - 1)
    assert not is_open(webhook)
    (claim, *_) = claim_due(WAITING)
    record([result(claim, FAILED)])
    probe_at = state_of(webhook).probe_at
    assert probe_at is not None
    assert abs(probe_at - now() - PROBE_EVERY) < dt.timedelta(seconds=5)


def test_circuit__a_success_between_failures__keeps_it_closed(webhook: Receiver) -> None:
    fail(FAILURES - 1)
    record([result(claim_due(1)[0], OK)])
    fail(FAILURES - 1)
    assert not is_open(webhook)


def test_circuit__open__has_one_attempt_each_30_seconds_and_the_others_wait_without_one(webhook: Receiver) -> None:
    open_circuit()
    before = attempts()
    assert dt.timedelta(seconds=30) == PROBE_EVERY
    for probes in range(1, 4):
        assert claim_due(WAITING) == []
        let_pass(dt.timedelta(seconds=26))  # the rest is what a slow machine may use itself
        assert claim_due(WAITING) == []
        let_pass(dt.timedelta(seconds=5))
        probe = claim_one_of(WAITING)
        assert claim_due(WAITING) == []  # one at a time, until its result is there
        record([result(probe, FAILED)])
        assert is_open(webhook)
        assert attempts() == before + probes
    assert set(webhook.deliveries.values_list("status", flat=True)) == {"pending"}


def test_circuit__a_success__closes_it_and_the_waiting_ones_are_due(webhook: Receiver) -> None:
    open_circuit()
    let_pass(PROBE_EVERY)
    record([result(claim_one_of(WAITING), OK)])
    after = state_of(webhook)
    assert (after.probe_at, after.failure_count, after.failing_since) == (None, 0, None)
    assert len(claim_due(WAITING)) == after.in_flight_limit


def test_circuit__open__changes_no_schedule(webhook: Receiver) -> None:
    open_circuit()
    let_pass(PROBE_EVERY)
    probe = claim_one_of(WAITING)
    before, failures = now(), probe.delivery.attempt_count
    record([result(probe, FAILED)])
    retried = Delivery.objects.get(pk=probe.delivery.pk)
    assert retried.attempt_count == failures + 1
    assert retried.next_attempt_at is not None
    waiting = (retried.next_attempt_at - before).total_seconds()
    assert 0.8 * DELAYS[failures] - 1 <= waiting <= 1.2 * DELAYS[failures] + 5
    others = webhook.deliveries.exclude(pk=probe.delivery.pk)
    assert not others.filter(next_attempt_at__gt=Now() + dt.timedelta(minutes=2)).exists()


def test_circuit__of_one_endpoint__does_not_touch_another(webhook: Receiver) -> None:
    open_circuit()
    other = make_webhook(form_of(webhook))
    make_backlog(other, 2)
    assert [claim.delivery.receiver for claim in claim_due(WAITING)] == [other, other]


def test_circuit__process_of_the_probe_died__is_probed_again(webhook: Receiver) -> None:
    open_circuit()
    let_pass(PROBE_EVERY)
    first = claim_one_of(WAITING)
    let_pass(dt.timedelta(seconds=60))
    second = claim_one_of(WAITING)
    assert second.delivery.pk != first.delivery.pk
    assert is_open(webhook)


def test_circuit__disabled_and_activated__is_closed_with_the_first_limit(webhook: Receiver) -> None:
    Receiver.objects.update(in_flight_limit=16)
    open_circuit()
    change_webhook(webhook, {"status": "disabled"})
    assert claim_due(WAITING) == []
    change_webhook(state_of(webhook), {"status": "active"})
    after = state_of(webhook)
    assert (after.probe_at, after.failure_count, after.failing_since) == (None, 0, None)
    assert after.in_flight_limit == IN_FLIGHT
    make_backlog(webhook, WAITING)
    assert len(claim_due(WAITING)) == IN_FLIGHT


def test_circuit__open__holds_test_events_too_and_their_results_do_not_touch_it(webhook: Receiver) -> None:
    open_circuit()
    before = state_of(webhook)
    webhook.deliveries.all().delete()
    send_test(before)
    assert claim_due(WAITING) == []
    let_pass(PROBE_EVERY)
    moved = state_of(webhook)
    record([result(claim_one_of(WAITING), OK)])
    after = state_of(webhook)
    assert (after.failure_count, after.probe_at) == (FAILURES, moved.probe_at)


def test_circuit__test_event_behind_a_backlog__is_the_next_attempt_and_counts_as_one(webhook: Receiver) -> None:
    open_circuit()
    make_backlog(webhook, 2 * OLDEST)
    send_test(state_of(webhook))
    assert claim_due(WAITING) == []
    let_pass(PROBE_EVERY)
    test = claim_one_of(WAITING)
    assert test.delivery.event == "test"
    record([result(test, FAILED)])
    assert state_of(webhook).failure_count == FAILURES
    assert claim_due(WAITING) == []
    let_pass(PROBE_EVERY)
    assert claim_one_of(WAITING).delivery.event != "test"


def test_test_events__of_a_busy_organization__have_no_more_than_its_share(webhook: Receiver) -> None:
    webhook.deliveries.all().delete()
    for _ in range(IN_FLIGHT + 2):
        send_test(state_of(webhook))
    other = make_webhook(make_form())
    make_backlog(other, WAITING)
    claims = Claimer(Slots(8, 0)).claim(Slots(8, 0))
    assert sorted(claim.delivery.webhook_id == other.pk for claim in claims) == [False, True]


def test_limit__test_events__neither_raise_nor_lower_it(webhook: Receiver) -> None:
    webhook.deliveries.all().delete()
    for outcome in (OK, FAILED):
        send_test(state_of(webhook))
        record([result(claim_one(), outcome)])
        assert (state_of(webhook).in_flight_limit, state_of(webhook).failure_count) == (IN_FLIGHT, 0)


def test_limit__quick_answers__double_it_once_for_all_that_are_recorded_together(webhook: Receiver) -> None:
    limits = []
    for _ in range(5):
        make_backlog(webhook, MOST_IN_FLIGHT)
        claims = claim_due(100)
        limits.append(len(claims))
        record([result(claim, OK) for claim in claims])
    assert limits == [IN_FLIGHT, 8, 16, MOST_IN_FLIGHT, MOST_IN_FLIGHT]


@pytest.mark.parametrize("outcome", [SLOW, FAILED, REFUSED])
def test_limit__a_slow_answer_or_a_failure_among_quick_ones__lowers_it_to_the_first(
    webhook: Receiver, outcome: Outcome
) -> None:
    Receiver.objects.update(in_flight_limit=MOST_IN_FLIGHT)
    claims = claim_due(5)
    record([result(claim, outcome if claim is claims[2] else OK) for claim in claims])
    assert state_of(webhook).in_flight_limit == IN_FLIGHT
    assert len(claim_due(WAITING)) == IN_FLIGHT


def test_limit__lowered_while_more_are_in_flight__starts_none_until_they_are_below_it(webhook: Receiver) -> None:
    Receiver.objects.filter(pk=webhook.pk).update(in_flight_limit=8)
    claims = claim_due(WAITING)
    assert len(claims) == 8
    record([result(claims[0], SLOW)])
    assert claim_due(WAITING) == []
    record([result(claim, SLOW) for claim in claims[1:5]])
    assert len(claim_due(WAITING)) == 1


def test_limit__late_result__does_not_touch_it_or_the_circuit(webhook: Receiver) -> None:
    claims = claim_due(WAITING)
    webhook.deliveries.update(lease_token=None, lease_until=None, next_attempt_at=F("next_attempt_at"))
    record([result(claim, FAILED) for claim in claims])
    record([result(claim, OK) for claim in claims])
    after = state_of(webhook)
    assert (after.failure_count, after.in_flight_limit) == (0, IN_FLIGHT)
