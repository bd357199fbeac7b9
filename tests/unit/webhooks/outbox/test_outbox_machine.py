"""
The outbox against a simple model, driven by Hypothesis: any order of dispatch, claims, results, crashes and changes.

After every step the rows are those of the model, which knows four promises: nothing is lost, nothing is invented, each
result counts once, and nothing is stuck. Time is moved by changing the times of rows.
"""

import dataclasses
import datetime as dt
import os
import uuid
from collections import Counter
from typing import Any

import hypothesis
import pytest
from django.db import transaction
from django.db.models import Count, F, Q
from django.db.models.functions import Now
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pytest_django import Settings

from config.api.errors import Conflict
from submissions.lifecycle.spam_marks import mark_not_spam, mark_spam
from submissions.models import Submission
from tests.services.environment import EXAMPLES_VARIABLE
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.outbox.backlogs import expire_leases
from tests.unit.webhooks.rows import (
    CANCELED,
    FAILED,
    OK,
    REFUSED,
    claim_due,
    make_form,
    make_submission,
    make_webhook,
    result,
    totals,
)
from webhooks.channels.registry import CHANNELS
from webhooks.models import Attempt, Delivery, Receiver
from webhooks.outbox.abandoned import free_abandoned
from webhooks.outbox.claim import Claim
from webhooks.outbox.record import record
from webhooks.outbox.retry_schedule import DELAYS
from webhooks.outbox.shares import SUSPECTS
from webhooks.receivers.actions import delete_receiver
from webhooks.receivers.registration import change_webhook
from webhooks.replays import replay, retry_delivery

EXAMPLES, STEPS = int(os.environ.get(EXAMPLES_VARIABLE, 40)), 30
ATTEMPTS = len(DELAYS) + 1
LONGEST_WAIT = dt.timedelta(hours=24 * 1.2 + 0.1)
ENDED = ["delivered", "failed", "canceled"]
TOO_LONG = (  # one question for the three, after each step
    Q(status="pending", next_attempt_at__gt=Now() + LONGEST_WAIT)
    | Q(lease_until__gt=Now() + dt.timedelta(seconds=11))
    | (Q(lease_token__isnull=False) & ~Q(status="pending"))
)


@dataclasses.dataclass
class Row:
    """A delivery as the model has it. `holder`: the token of the claim whose result counts."""

    status: str
    attempts: int = 0
    logged: int = 0
    counted: str = ""
    lost: int = 0
    holder: uuid.UUID | None = None
    is_lease_over: bool = False

    def resume(self) -> None:
        """Begin a new round."""
        self.status, self.attempts, self.holder, self.is_lease_over = "pending", 0, None, False

    def release(self) -> None:
        self.holder, self.is_lease_over = None, False

    def end_attempt(self, status: str) -> None:
        self.status = status
        self.attempts += 1
        if status != "pending" and self.counted != "delivered":
            self.counted = status
        self.release()


@dataclasses.dataclass
class Sent:
    """A submission as the model has it."""

    is_spam: bool = False
    is_dispatched: bool = False
    is_counted: bool = False


class Outbox(RuleBasedStateMachine):
    """One form with two webhooks."""

    def __init__(self) -> None:
        super().__init__()
        self._atomic = transaction.atomic()
        self._atomic.__enter__()
        self.form = make_form()
        self.webhooks = [make_webhook(self.form).pk for _ in range(2)]
        Receiver.objects.update(created_at=Now() - dt.timedelta(hours=1))
        self.disabled: set[uuid.UUID] = set()
        self.submissions: dict[uuid.UUID, Sent] = {}
        self.rows: dict[tuple[uuid.UUID, uuid.UUID], Row] = {}  # by submission and webhook
        self.tallied: Counter[str] = Counter()  # of deleted deliveries
        self.claims: list[Claim] = []  # whose result has not come, however late it is

    def teardown(self) -> None:
        try:
            self.everything_ends()
        finally:
            transaction.set_rollback(True)
            self._atomic.__exit__(None, None, None)

    def webhook(self, number: int) -> Receiver:
        return Receiver.objects.select_related("form").get(pk=self.webhooks[number % len(self.webhooks)])

    def submission(self, number: int) -> Submission:
        return Submission.objects.get(pk=list(self.submissions)[number % len(self.submissions)])

    def row_of(self, claim: Claim) -> Row | None:
        delivery = claim.delivery
        assert delivery.submission_id is not None
        assert delivery.webhook_id is not None
        return self.rows.get((delivery.submission_id, delivery.webhook_id))

    # Submissions

    @initialize()
    def begin(self) -> None:
        self.submit(3)
        self.dispatch()

    @rule(number=st.integers(1, 4))
    def submit(self, number: int) -> None:
        for _ in range(number):
            self.submissions[make_submission(self.form).pk] = Sent()

    @rule()
    def dispatch(self) -> None:
        waiting = {pk: sent for pk, sent in self.submissions.items() if not sent.is_dispatched}
        assert dispatch_all() == len(waiting)
        for pk, sent in waiting.items():
            sent.is_dispatched = sent.is_counted = True
            for webhook in [] if sent.is_spam else self.webhooks:
                row = self.rows.setdefault((pk, webhook), Row("canceled" if webhook in self.disabled else "pending"))
                if row.status == "canceled" and webhook not in self.disabled:
                    row.resume()

    @precondition(lambda self: self.submissions)
    @rule(number=st.integers(0, 50), is_spam=st.booleans())
    def mark(self, number: int, is_spam: bool) -> None:
        row = self.submission(number)
        sent = self.submissions[row.pk]
        (mark_spam if is_spam else mark_not_spam)(row)
        if sent.is_spam and not is_spam:
            sent.is_dispatched = False
        sent.is_spam = is_spam

    # Claims and results

    @rule(room=st.sampled_from([1, 3, 40]))
    def claim(self, room: int) -> None:
        """Claim as a new process."""
        claims = claim_due(room)
        suspects = 0
        for claim in claims:
            row = self.row_of(claim)
            assert row is not None
            assert (row.status, row.holder) == ("pending", None)
            row.holder = claim.token
            suspects += [0, 1, SUSPECTS][min(row.lost, 2)]
        assert suspects <= SUSPECTS
        self.claims += claims
        for pk, limit, probe_at in Receiver.objects.values_list("pk", "in_flight_limit", "probe_at"):
            mine = [row for (_, webhook), row in self.rows.items() if webhook == pk and row.holder]
            if any(claim.delivery.webhook_id == pk for claim in claims):
                live = sum(not row.is_lease_over for row in mine)
                assert live <= (limit if probe_at is None else 1)

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 50), outcome=st.sampled_from([OK, OK, FAILED, FAILED, REFUSED]))
    def finish(self, number: int, outcome: Any) -> None:
        """Record a result, which may come after the lease was lost."""
        self._finish([self.claims.pop(number % len(self.claims))], outcome)

    @precondition(lambda self: self.claims)
    @rule(outcome=st.sampled_from([OK, FAILED]))
    def finish_all(self, outcome: Any) -> None:
        claims, self.claims = self.claims, []
        self._finish(claims, outcome)

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 50))
    def finish_with_both_results(self, number: int) -> None:
        """Record success and failure of one claim: only the first one counts."""
        claim = self.claims.pop(number % len(self.claims))
        self._finish([claim], OK)
        self._finish([claim], FAILED)

    def _finish(self, claims: list[Claim], outcome: Any) -> None:
        stopped = [CHANNELS[claim.delivery.channel].gate(claim.delivery) != "pending" for claim in claims]
        outcomes = [CANCELED if is_stopped else outcome for is_stopped in stopped]
        record([result(claim, each) for claim, each in zip(claims, outcomes, strict=True)])
        for claim, each in zip(claims, outcomes, strict=True):
            row = self.row_of(claim)
            if row is not None:
                self._end(row, claim, each)

    def _end(self, row: Row, claim: Claim, outcome: Any) -> None:
        is_valid = row.holder == claim.token
        if outcome is CANCELED:
            if is_valid:
                row.release()
                row.lost = 0
                must_stop = self.submissions[claim.delivery.submission_id].is_spam  # type: ignore[index]  # it has one
                row.status = "canceled" if must_stop or claim.delivery.webhook_id in self.disabled else "pending"
            return
        row.logged += 1
        if is_valid:
            row.lost = 0
            is_last = outcome is REFUSED or row.attempts + 1 >= ATTEMPTS
            row.end_attempt("delivered" if outcome is OK else "failed" if is_last else "pending")

    # Crashes and time

    @rule(outcome=st.sampled_from([OK, FAILED, REFUSED]))
    def freeze(self, outcome: Any) -> None:
        """Freeze for longer than a lease and a sweep with new claims, and then record their results."""
        before = len(self.claims)
        self.claim(3)
        self.crash()
        self.sweep()
        late = self.claims[before:]
        self.claims = self.claims[:before]
        if late:
            self._finish(late, outcome)

    @rule()
    def crash(self) -> None:
        """Let every lease run out. The process may be dead, or only frozen: its claims may still have a result."""
        expire_leases()
        for row in self.rows.values():
            row.is_lease_over = row.holder is not None

    @rule()
    def sweep(self) -> None:
        lost = [row for row in self.rows.values() if row.holder and row.is_lease_over]
        assert free_abandoned() == len(lost)
        for row in lost:
            if row.lost > 1:  # the first two in a row are free
                row.logged += 1
                row.end_attempt("failed" if row.attempts + 1 >= ATTEMPTS else "pending")
            row.release()
            row.lost += 1

    @rule(time=st.sampled_from([dt.timedelta(seconds=31), dt.timedelta(hours=30)]))
    def let_pass(self, time: dt.timedelta) -> None:
        pending = Delivery.objects.filter(status="pending")
        pending.update(next_attempt_at=F("next_attempt_at") - time)
        Receiver.objects.filter(probe_at__isnull=False).update(probe_at=F("probe_at") - time)

    # Webhooks

    @rule(number=st.integers(0, 1))
    def disable(self, number: int) -> None:
        webhook = self.webhook(number)
        change_webhook(webhook, {"status": "disabled"})
        if webhook.pk not in self.disabled:
            self.disabled.add(webhook.pk)
            for (_, target), row in self.rows.items():
                if target == webhook.pk and row.status == "pending" and row.holder is None:
                    row.status = "canceled"

    @precondition(lambda self: self.disabled)
    @rule(number=st.integers(0, 1))
    def activate(self, number: int) -> None:
        webhook = self.webhook(number)
        change_webhook(webhook, {"status": "active"})
        self.disabled.discard(webhook.pk)

    @precondition(lambda self: len(self.webhooks) > 1 and len(self.submissions) > 3)
    @rule(number=st.integers(0, 1))
    def delete(self, number: int) -> None:
        webhook = self.webhook(number)
        delete_receiver(webhook)
        self.webhooks.remove(webhook.pk)
        self.disabled.discard(webhook.pk)
        for key in [key for key in self.rows if key[1] == webhook.pk]:
            self.tallied[self.rows.pop(key).counted] += 1

    @rule(number=st.integers(0, 1), statuses=st.sampled_from([["failed"], ENDED, [*ENDED, "pending"]]))
    def replay(self, number: int, statuses: list[str]) -> None:
        webhook = self.webhook(number)
        again = [
            row
            for (pk, target), row in self.rows.items()
            if target == webhook.pk and row.status in statuses and not self.submissions[pk].is_spam and _is_free(row)
        ]
        try:
            assert replay(webhook, since=None, until=None, statuses=statuses, dry_run=False)[1] == len(again)
        except Conflict:
            assert webhook.pk in self.disabled
        else:
            for row in again:
                row.resume()

    @precondition(lambda self: self.rows)
    @rule(number=st.integers(0, 50))
    def retry(self, number: int) -> None:
        (submission, webhook), row = list(self.rows.items())[number % len(self.rows)]
        must_refuse = webhook in self.disabled or self.submissions[submission].is_spam or not _is_free(row)
        try:
            retry_delivery(Delivery.objects.get(submission=submission, receiver=webhook))
        except Conflict:
            assert must_refuse
        else:
            assert not must_refuse
            row.resume()

    # What must hold after every step

    @invariant()
    def nothing_is_lost_or_invented(self) -> None:
        columns = ("submission", "receiver", "status", "attempt_count", "counted_as", "lost_claims", "lease_token")
        stored = Delivery.objects.annotate(logged=Count("attempts")).values_list(*columns, "logged")
        found = {(row[0], row[1]): row[2:] for row in stored}
        assert found == {
            key: (row.status, row.attempts, row.counted, row.lost, row.holder, row.logged)
            for key, row in self.rows.items()
        }
        assert Attempt.objects.count() == sum(row.logged for row in self.rows.values())
        dispatched = {pk for pk, sent in self.submissions.items() if sent.is_dispatched and not sent.is_spam}
        assert {(pk, webhook) for pk in dispatched for webhook in self.webhooks} <= set(found)

    @invariant()
    def each_result_counts_once(self) -> None:
        counted = self.tallied + Counter(row.counted for row in self.rows.values())
        known = [sent for sent in self.submissions.values() if sent.is_counted]
        spam = sum(sent.is_spam for sent in known)
        expected = {"received": len(known), "kept": len(known) - spam, "spam": spam}
        assert totals() == expected | {name: counted[name] for name in ("delivered", "failed")}

    @invariant()
    def nothing_waits_too_long(self) -> None:
        assert list(Delivery.objects.filter(TOO_LONG).values("status", "next_attempt_at", "lease_until")) == []

    def everything_ends(self) -> None:
        """Let all processes die, and then work as usual: every pending delivery is claimed and ends."""
        self.claims.clear()
        for _ in range(4 + 2 * len(self.rows)):
            self.crash()
            self.sweep()
            self.let_pass(dt.timedelta(hours=30))
            self.dispatch()
            self.claim(40)
            if self.claims:
                self.finish_all(OK)
            self.nothing_is_lost_or_invented()
            if not any(row.status == "pending" for row in self.rows.values()):
                break
        self.each_result_counts_once()
        assert not Delivery.objects.filter(status__in=["pending", "held"]).exists()


def _is_free(row: Row) -> bool:
    return row.holder is None or row.is_lease_over


@pytest.mark.django_db
def test_outbox__any_order_of_events__keeps_to_the_model(settings: Settings) -> None:
    settings.REPLAYS = "100000/h"
    bounds = hypothesis.settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate],  # shrinking takes minutes; add Phase.shrink to look into a failure
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    run_state_machine_as_test(Outbox, settings=bounds)
