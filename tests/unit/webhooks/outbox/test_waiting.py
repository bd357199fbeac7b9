"""The candidates of a claim: no backlog hides others, and a claim costs the same for any number of rows."""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.base.database import database_id, now_in_sql
from config.base.ids import made_at, new_id
from config.base.times import now
from keys.suspension import suspend_organization
from submissions.models import Submission
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.outbox.backlogs import AN_HOUR, make_backlog
from tests.unit.webhooks.rows import OK, claim_due, make_form, make_submission, make_webhook, result
from webhooks.enqueue import enqueue_mail
from webhooks.events import ACCOUNT_MAIL, INVITATION
from webhooks.models import Delivery, Receiver
from webhooks.outbox import waiting as module
from webhooks.outbox.claim import Claim, Claimer
from webhooks.outbox.dispatch import dispatch_batch
from webhooks.outbox.record import record
from webhooks.outbox.shares import Candidate, Slots
from webhooks.outbox.waiting import OLDEST, Waiting
from webhooks.payloads import RenderedMail

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
ROOM = Slots(100, 100)
A_MINUTE = dt.timedelta(minutes=1)
MANY = 1000


def webhooks(count: int) -> list[Receiver]:
    """Return webhooks, each of a separate organization."""
    return [make_webhook(make_form()) for _ in range(count)]


def targets(candidates: Sequence[Candidate]) -> Counter[str]:
    return Counter(each.place[1] for each in candidates)


def test_candidates__backlog_of_one_target__hides_no_other() -> None:
    busy, *others = webhooks(4)
    make_backlog(busy, MANY)
    for other in others:
        make_backlog(other, 3, age=A_MINUTE)
    found = targets(Waiting().candidates(ROOM))
    assert {other.public_id: found[other.public_id] for other in others} == {other.public_id: 3 for other in others}
    assert found[busy.public_id] >= OLDEST


def test_claim__backlog_of_one_endpoint_that_is_full__goes_to_the_others() -> None:
    busy, other = webhooks(2)
    make_backlog(busy, MANY)
    claimer = Claimer(Slots(1000, 1000))
    assert len(claimer.claim(ROOM)) == 4
    make_backlog(other, 1, age=A_MINUTE)
    assert [claim.delivery.receiver for claim in claimer.claim(ROOM)] == [other]


def test_claims__of_a_backlog__read_their_candidates_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_SECONDS", 60)
    (busy,) = webhooks(1)
    Receiver.objects.update(in_flight_limit=32)
    make_backlog(busy, OLDEST)
    claimer, room = Claimer(Slots(1000, 1000)), Slots(8, 8)
    first, second = claimer.claim(room), _claim_without_reading(claimer, room, monkeypatch)
    assert (len(first), len(second)) == (8, 8)
    assert not {claim.delivery.pk for claim in first} & {claim.delivery.pk for claim in second}


def _claim_without_reading(claimer: Claimer, room: Slots, monkeypatch: pytest.MonkeyPatch) -> list[Claim]:
    with monkeypatch.context() as patch:
        patch.delattr(module, "_read")
        return claimer.claim(room)


def test_claim__candidates_that_others_have_taken_meanwhile__reads_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_SECONDS", 60)
    (busy,) = webhooks(1)
    Receiver.objects.update(in_flight_limit=32)
    make_backlog(busy, OLDEST)
    claimer = Claimer(Slots(1000, 1000))
    assert claimer.claim(Slots(8, 8))
    busy.deliveries.update(status=Delivery.Status.DELIVERED, next_attempt_at=None, lease_token=None, lease_until=None)
    (left,) = make_backlog(busy, 1)
    assert [claim.delivery.pk for claim in claimer.claim(Slots(8, 8))] == [left.pk]


def test_candidates__found_in_both_ways__are_there_once() -> None:
    (busy,) = webhooks(1)
    make_backlog(busy, OLDEST + 10)
    found = Waiting().candidates(ROOM)
    assert len(found) == len({each.pk for each in found})


def test_walk__more_queues_than_one_reads__goes_on_behind_them_and_starts_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "QUEUES_READ", 2)
    busy, *others = webhooks(5)
    make_backlog(busy, OLDEST)
    for other in others:
        make_backlog(other, 1, age=A_MINUTE)
    waiting = Waiting()
    rounds = [set(targets(waiting.candidates(ROOM))) - {busy.public_id} for _ in range(6)]
    assert all(len(found) <= 2 for found in rounds)
    assert set.union(*rounds[:3]) == {other.public_id for other in others}
    assert set.union(*rounds[3:]) == {other.public_id for other in others}


def test_walk__queues_without_due_deliveries__are_passed_and_the_walk_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUEUES_WALKED", 2)
    *later, busy, other = sorted(webhooks(7), key=lambda each: each.organization_id)
    make_backlog(busy, OLDEST)
    for each in later:
        make_backlog(each, 1, age=-AN_HOUR)
    make_backlog(other, 1, age=A_MINUTE)
    waiting = Waiting()
    rounds = [targets(waiting.candidates(ROOM))[other.public_id] for _ in range(4)]
    assert rounds == [0, 0, 0, 1]


def test_walk__suspended_organization__is_left_out() -> None:
    busy, suspended, other = webhooks(3)
    make_backlog(busy, OLDEST)
    make_backlog(suspended, 2, age=A_MINUTE)
    make_backlog(other, 2, age=A_MINUTE)
    suspend_organization(suspended.organization, by=None)
    found = targets(Waiting().candidates(ROOM))
    assert (found[suspended.public_id], found[other.public_id]) == (0, 2)


def test_candidates__suspended_organization_is_among_the_oldest__is_noted() -> None:
    (suspended,) = webhooks(1)
    make_backlog(suspended, 2)
    suspend_organization(suspended.organization, by=None)
    waiting = Waiting()
    assert waiting.candidates(ROOM) == []
    assert waiting.suspended == {suspended.organization_id}


@pytest.mark.parametrize(("room", "expected"), [(Slots(9, 0), {"webhook"}), (Slots(0, 9), {"mail"})])
def test_candidates__no_room_for_a_channel__are_of_the_other(room: Slots, expected: set[str]) -> None:
    busy, other = webhooks(2)
    organization = busy.organization_id
    make_backlog(busy, OLDEST)
    make_backlog("ada@example.com", OLDEST, organization_id=organization)
    make_backlog(other, 1, age=A_MINUTE)
    make_backlog("eve@example.com", 1, age=A_MINUTE, organization_id=organization)
    found = Waiting().candidates(room)
    assert {each.place[0] for each in found} == expected
    assert {other.public_id, "eve@example.com"} & set(targets(found)) != set()


def test_candidates__urgent__are_first_behind_any_backlog() -> None:
    busy, _ = webhooks(2)
    make_backlog(busy, MANY)
    urgent = make_backlog("ada@example.com", 2, age=A_MINUTE, organization_id=busy.organization_id, priority=10)
    found = Waiting().candidates(ROOM)
    assert {each.pk for each in found[:2]} == {each.pk for each in urgent}
    assert [each.is_urgent for each in found[:3]] == [True, True, False]


def test_candidates__whose_claims_were_lost__are_of_queues_too_and_known_by_that() -> None:
    busy, other = webhooks(2)
    make_backlog(busy, OLDEST)
    lost, fine = make_backlog(other, 2, age=A_MINUTE)
    Delivery.objects.filter(pk=lost.pk).update(lost_claims=1)
    found = Waiting().candidates(ROOM)
    assert {each.pk: each.suspicion for each in found if each.place[1] == other.public_id} == {lost.pk: 1, fine.pk: 0}


def claim_with_queries(claim: Callable[[], list[Claim]]) -> tuple[list[Claim], int]:
    """Return claims, and how many queries they cost."""
    with CaptureQueriesContext(connection) as queries:
        claims = claim()
    return claims, len(queries)


def queries_of_record(claims: Sequence[Claim]) -> int:
    """Record successes, and return how many queries that costs."""
    results = [result(claim, OK) for claim in claims]
    with CaptureQueriesContext(connection) as queries:
        record(results)
    return len(queries)


def test_queries__of_a_claim_and_its_record__do_not_grow_with_rows() -> None:
    counts = set()
    for number in (8, 64):
        for webhook in webhooks(number):
            make_backlog(webhook, 1)
        claims, of_claim = claim_with_queries(lambda: claim_due(1000))
        assert len(claims) == number
        # Each webhook that is not proven yet has its own UPDATE, because its limit grows.
        counts.add((of_claim, queries_of_record(claims) - number))
    assert len(counts) == 1


def test_queries__of_a_record__do_not_grow_with_rows_and_proven_endpoints() -> None:
    counts = set()
    for number in (8, 64):
        for webhook in webhooks(number // 4):
            make_backlog(webhook, 4)
        Receiver.objects.update(in_flight_limit=32)
        claims = claim_due(1000)
        assert len(claims) == number
        counts.add(queries_of_record(claims))
    assert len(counts) == 1


def test_queries__of_a_claim_behind_a_backlog__do_not_grow_with_rows_and_queues() -> None:
    counts = set()
    for number in (8, 40):
        for webhook in webhooks(number):
            make_backlog(webhook, OLDEST // 8)
        claims, of_claim = claim_with_queries(lambda: Claimer(Slots(1000, 1000)).claim(Slots(8, 8)))
        assert len(claims) == 8
        counts.add(of_claim)
    assert len(counts) == 1


def plan_of(sql: str, parameters: Sequence[Any]) -> str:
    """Return the plan of a query, by the statistics of now."""
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute(f"{explain} {sql}", parameters)
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def test_plan__of_the_walk_and_of_its_queues__uses_the_index_of_queues() -> None:
    made = webhooks(20)
    for webhook in made:
        make_backlog(webhook, 250)
    start = module._START
    places = [part for one in made for part in (database_id(one.organization_id), "webhook", one.public_id)]
    walk = plan_of(module._WALK.format(now=now_in_sql()), [database_id(start[0]), *start[1], module.QUEUES_WALKED])
    queues = plan_of(module._oldest_of_queues(len(made), module.ROWS_OF_QUEUE), places)
    assert walk.count("delivery_queues") == 2, walk
    assert queues.count("delivery_queues") == (1 if connection.vendor == "postgresql" else len(made)), queues
    for plan in (walk, queues):
        assert "Seq Scan on webhooks_delivery" not in plan, plan
        assert "SCAN d" not in plan, plan
        assert "SCAN webhooks_delivery" not in plan, plan


def test_plan__of_looking_for_work_after_a_backlog__reads_no_table() -> None:
    form = make_form()
    ids = [new_id() for _ in range(2000)]
    rows = [Submission(pk=pk, organization_id=form.organization_id, form=form, created_at=made_at(pk)) for pk in ids]
    for row in rows[:1000]:
        row.dispatched_at, row.counted_as = now(), Submission.CountedAs.KEPT
    Submission.objects.bulk_create(rows)
    with CaptureQueriesContext(connection) as context:
        dispatch_batch()
    # Half of the rows wait when the statistics are made.
    for sql in (module._WORK.format(now=now_in_sql()), context.captured_queries[0]["sql"]):
        plan = plan_of(sql, [])
        assert "submission_undispatched" in plan, plan
        assert "Seq Scan on submissions_submission" not in plan, plan


def test_claim__while_many_mails_wait_that_anybody_asked_for__takes_those_of_organizations() -> None:
    for number in range(2 * OLDEST):
        enqueue_mail(ACCOUNT_MAIL, RenderedMail("No account", "Text", ""), f"eve{number}@example.com")
    form = make_form(notification_recipients=["ada@example.com"])
    make_submission(form)
    dispatch_all()
    enqueue_mail(INVITATION, RenderedMail("Join", "Text", ""), "bob@example.com", organization_id=form.organization_id)
    claimed = [claim.delivery.event for claim in Claimer(Slots(8, 8)).claim(Slots(8, 8))]
    assert Counter(claimed) == {"account.mail": 2, "invitation": 1, "submission.created": 1}
    assert Claimer(Slots(8, 8)).claim(Slots(4, 4)) == []  # those in flight count
