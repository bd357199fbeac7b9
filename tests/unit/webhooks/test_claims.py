"""A claim is exclusive, capped at four for a webhook, and a lease (docs/adr/0109)."""

import dataclasses
import datetime as dt
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.db.models.functions import Now
from pytest_django import Settings

from tests.support.deliveries import make_delivery
from tests.unit.webhooks.rows import (
    FAILED,
    OK,
    claim_due,
    claim_one,
    make_deliveries,
    make_form,
    make_webhook,
    result,
    submission_of,
)
from tests.unit.webhooks.side_by_side import run_side_by_side, shared_database
from webhooks.channels.webhook import QUICK_MILLISECONDS
from webhooks.models import Attempt, Delivery
from webhooks.outbox.abandoned import free_abandoned
from webhooks.outbox.claim import Claim
from webhooks.outbox.record import record
from webhooks.outbox.shares import Candidate, Shares
from webhooks.transport.outcome import Outcome

pytestmark = pytest.mark.slow

ROWS = 200
IN_FLIGHT_PER_WEBHOOK = 4
SLOW = dataclasses.replace(OK, duration_ms=QUICK_MILLISECONDS)  # a quicker answer lets the limit grow
AN_HOUR_AGO = Now() - dt.timedelta(hours=1)
SECONDS = 60.0  # for a whole test; a claimer that never gets its rows fails instead of hanging


@pytest.fixture
def shared(transactional_db: None, tmp_path: Path) -> Iterator[None]:  # noqa: ARG001  # open before it is copied
    with shared_database(tmp_path):
        yield


def claim_until_none_is_due(limit: int) -> list[uuid.UUID]:
    """Return the ids that this claimer got, while others claim too."""
    taken: list[uuid.UUID] = []
    end = time.monotonic() + SECONDS
    while Delivery.objects.due().exists() and time.monotonic() < end:
        taken += [claim.delivery.pk for claim in claim_due(limit)]
    return taken


def claim_abandoned() -> list[Claim]:
    """Claim deliveries whose first claim ended without a result."""
    free_abandoned()
    return claim_due(10)


def expire_leases() -> None:
    """Put every lease's end into the past, by the database's clock."""
    Delivery.objects.filter(lease_until__isnull=False).update(lease_until=Now() - dt.timedelta(seconds=1))


@pytest.mark.usefixtures("shared")
def test_claim__eight_claimers_and_200_rows__each_row_is_taken_once() -> None:
    make_deliveries(ROWS, webhooks=ROWS // IN_FLIGHT_PER_WEBHOOK)
    takings = run_side_by_side(lambda: claim_until_none_is_due(4))
    taken = [pk for taking in takings for pk in taking]
    assert len(taken) == len(set(taken)) == ROWS
    assert not Delivery.objects.filter(lease_token=None).exists()


@pytest.mark.usefixtures("shared")
def test_claim__eight_claimers_and_three_webhooks__takes_exactly_four_of_each() -> None:
    webhooks = make_deliveries(60, webhooks=3)
    takings = run_side_by_side(lambda: [claim.delivery for _ in range(10) for claim in claim_due(16)])
    in_flight = Counter(delivery.webhook_id for taking in takings for delivery in taking)
    assert in_flight == {webhook.pk: IN_FLIGHT_PER_WEBHOOK for webhook in webhooks}


@pytest.mark.usefixtures("shared")
def test_claim__results_come_in_meanwhile__no_webhook_ever_exceeds_four_and_each_row_is_sent_once() -> None:
    make_deliveries(ROWS, webhooks=5)
    end = time.monotonic() + SECONDS

    def work() -> int:
        most = 0
        while Delivery.objects.exclude(status="delivered").exists() and time.monotonic() < end:
            claims = claim_due(3)
            live = Delivery.objects.filter(lease_token__isnull=False).values_list("receiver_id", flat=True)
            most = max([most, *Counter(live).values()])
            if claims:
                record([result(claim, SLOW) for claim in claims])
        return most

    assert max(run_side_by_side(work, threads=4)) <= IN_FLIGHT_PER_WEBHOOK
    assert set(Delivery.objects.values_list("status", "attempt_count")) == {("delivered", 1)}
    assert Attempt.objects.count() == ROWS


@pytest.mark.usefixtures("shared")
def test_claim__older_row_turns_up_while_another_claims__keeps_to_four(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two see different rows, so only the lock of claimers keeps them from taking four and one."""
    (webhook,) = make_deliveries(8)
    has_chosen, may_go_on, choose = threading.Event(), threading.Event(), Shares.choose

    def choose_and_pause(shares: Shares, candidates: Iterable[Candidate]) -> list[Candidate]:
        chosen = choose(shares, candidates)
        if chosen and connection.in_atomic_block and not has_chosen.is_set():
            has_chosen.set()
            may_go_on.wait(1)  # the other one waits for us, so this must end
        return chosen

    def claim_first() -> None:
        claim_due(4)
        connection.close()

    monkeypatch.setattr(Shares, "choose", choose_and_pause)
    first = threading.Thread(target=claim_first)
    first.start()
    assert has_chosen.wait(10)
    make_delivery(webhook, event="test", next_attempt_at=AN_HOUR_AGO)
    claim_due(4)
    may_go_on.set()
    first.join()
    assert Delivery.objects.filter(lease_token__isnull=False).count() == IN_FLIGHT_PER_WEBHOOK


@pytest.mark.django_db
def test_claim__more_than_the_limit_is_due__takes_the_oldest_first() -> None:
    make_deliveries(6, webhooks=6)
    newest_first = list(Delivery.objects.order_by("-id"))
    for age, delivery in enumerate(newest_first):  # the order of ids turned round
        due = Now() - dt.timedelta(seconds=10 - age)
        Delivery.objects.filter(pk=delivery.pk).update(next_attempt_at=due)
    assert [claim.delivery.pk for claim in claim_due(4)] == [delivery.pk for delivery in newest_first[:4]]
    assert claim_due(0) == []


@pytest.mark.django_db
@pytest.mark.parametrize("status", ["held", "delivered", "failed", "canceled"])
def test_claim__delivery_that_is_not_pending__is_left_alone(status: str) -> None:
    make_deliveries(1)
    Delivery.objects.update(status=status, next_attempt_at=None)
    assert claim_due(10) == []


@pytest.mark.django_db
def test_claim__next_attempt_in_the_future__is_left_alone_until_then() -> None:
    make_deliveries(1)
    Delivery.objects.update(next_attempt_at=Now() + dt.timedelta(seconds=30))
    assert claim_due(10) == []
    Delivery.objects.update(next_attempt_at=Now() - dt.timedelta(seconds=1))
    assert len(claim_due(10)) == 1


@pytest.mark.django_db
def test_claim__busy_webhook_with_many_due__does_not_hide_another() -> None:
    busy, other = make_deliveries(2, webhooks=2)
    for _ in range(100):
        make_delivery(busy, event="test", next_attempt_at=AN_HOUR_AGO)
    assert Counter(claim.delivery.webhook_id for claim in claim_due(16)) == {busy.pk: 4, other.pk: 1}


@pytest.mark.django_db
def test_claim__mails__have_no_cap_of_a_webhooks() -> None:
    form = make_form()
    for number in range(10):
        make_delivery(f"{number}@example.com", organization=form.organization, event="webhook.disabled")
    assert len(claim_due(8)) == 8


@pytest.mark.django_db
def test_lease__running__keeps_the_row_and_expired__frees_it(settings: Settings) -> None:
    settings.DELIVERY_LEASE_SECONDS = 60
    make_deliveries(1)
    first = claim_one()
    assert claim_due(10) == []
    expire_leases()
    (second,) = claim_abandoned()
    assert second.delivery.pk == first.delivery.pk
    assert second.token != first.token


@pytest.mark.django_db
@pytest.mark.parametrize("outcome", [OK, FAILED])
def test_late_result__of_an_expired_lease__changes_nothing_but_the_log(outcome: Outcome) -> None:
    (webhook,) = make_deliveries(1)
    first = claim_one()
    expire_leases()
    (second,) = claim_abandoned()
    before = Delivery.objects.values().get()
    record([result(first, outcome)])
    webhook.refresh_from_db()
    assert Delivery.objects.values().get() == before
    assert (webhook.failure_count, webhook.failing_since) == (0, None)
    assert Attempt.objects.count() == 1

    record([result(second, OK)])
    assert Delivery.objects.get().status == "delivered"
    assert Attempt.objects.count() == 2


@pytest.mark.django_db
def test_late_result__of_a_deleted_webhook_or_submission__is_dropped_and_the_others_are_recorded() -> None:
    gone, erased, healthy = make_deliveries(3, webhooks=3)
    claims = claim_due(3)
    gone.delete()
    submission_of(erased.deliveries.get()).delete()
    record([result(claim, OK) for claim in claims])
    assert [(row.webhook_id, row.status) for row in Delivery.objects.all()] == [(healthy.pk, "delivered")]
    assert Attempt.objects.count() == 1


@pytest.mark.django_db
def test_claim__webhook_of_an_expired_lease__counts_only_live_ones() -> None:
    webhook = make_webhook(make_form())
    for _ in range(8):
        make_delivery(webhook, event="test", next_attempt_at=AN_HOUR_AGO)
    assert len(claim_due(16)) == IN_FLIGHT_PER_WEBHOOK
    assert claim_due(16) == []
    expire_leases()
    assert len(claim_due(16)) == IN_FLIGHT_PER_WEBHOOK
