"""
Recording the outcomes of attempts: the log, the delivery's next state, the endpoint's health, the tallies.

A result counts only while the row still has the token of its claim. Every time is the database's, in SQL. The number of
statements does not depend on the number of results, as long as they succeed.
"""

import datetime as dt
import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from config.base.times import now
from submissions.counts.tally import apply_moves, key_of, new_moves
from submissions.counts.usage import Key, note_usage, today
from submissions.models import Submission
from webhooks.channels.registry import CHANNELS
from webhooks.enqueue import MAIL
from webhooks.events import EVENTS, is_secret
from webhooks.models import WEBHOOK, Attempt, Delivery, ErrorClass, Message, Receiver
from webhooks.models.log_bounds import drop_old_attempts, drop_old_recordings
from webhooks.outbox.failures_log import log_failed
from webhooks.outbox.retry_schedule import delay_after
from webhooks.outbox.send import Result
from webhooks.transport.outcome import Outcome

PENDING, DELIVERED, FAILED = Delivery.Status.PENDING, Delivery.Status.DELIVERED, Delivery.Status.FAILED
CANCELED, HELD = Delivery.Status.CANCELED, Delivery.Status.HELD
CHANGED = (
    "status", "attempt_count", "next_attempt_at", "finished_at", "counted_as",
    "lease_token", "lease_until", "lost_claims",
)  # fmt: skip


def record(results: Sequence[Result]) -> None:
    """
    Record the outcomes of attempts, in one transaction.

    Locks receivers, deliveries, then tallies, each in key order, as every transaction here does. Skips
    results whose delivery was deleted meanwhile.
    """
    made = [result for result in results if result.outcome.error != ErrorClass.CANCELED]
    if canceled := [result for result in results if result.outcome.error == ErrorClass.CANCELED]:
        _cancel(canceled)
    if made:
        _record_made(made)


def _record_made(made: Sequence[Result]) -> None:
    with transaction.atomic():
        by_channel = _by_channel(made)
        # In the registry's order, the same in every transaction: each channel locks its own receivers.
        locked = {name: CHANNELS[name].lock(_noted(by_channel[name])) for name in CHANNELS if name in by_channel}
        tokens = _lock_deliveries(made)
        there = sorted((r for r in made if r.claim.delivery.pk in tokens), key=lambda each: each.started_at)
        valid = [r for r in there if tokens[r.claim.delivery.pk] == r.claim.token]
        after = _end_claims(valid, locked)
        attempts = Attempt.objects.bulk_create([_attempt(result) for result in _unwritten(there, valid)])
        drop_old_attempts({attempt.delivery_id for attempt in attempts})
        for name, own in _by_channel([r for r in valid if not r.outcome.lost]).items():  # no receiver is to blame
            CHANNELS[name].note(_noted(own), locked[name])
        _drop_secrets(there)
        _count(after)
        note_usage(mails=_mails_of(valid))
    drop_old_recordings(attempts)
    failed = (r for r, each in zip(valid, after, strict=True) if each.status == FAILED)
    log_failed({result.claim.delivery.pk: result.outcome.error for result in failed})


def _by_channel(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the results of the channels that this release knows."""
    found = defaultdict(list)
    for result in results:
        if result.claim.delivery.channel in CHANNELS:
            found[result.claim.delivery.channel].append(result)
    return found


def _noted(results: Sequence[Result]) -> list[tuple[Delivery, Outcome]]:
    return [(result.claim.delivery, result.outcome) for result in results]


def _lock_deliveries(results: Sequence[Result]) -> dict[uuid.UUID, uuid.UUID | None]:
    """Lock the deliveries that were not deleted with their receiver or submission; return their tokens."""
    ids = {result.claim.delivery.pk for result in results}
    rows = Delivery.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
    return dict(rows.values_list("pk", "lease_token"))


def _unwritten(there: Sequence[Result], valid: Sequence[Result]) -> list[Result]:
    """
    Return the results without those whose attempt is in the log.

    When the answer to a COMMIT is lost, the caller records the same results again. Their claims have ended then, so
    only the results of ended claims are looked up.
    """
    if len(there) == len(valid):
        return list(there)
    ended = {result.claim.delivery.pk for result in there} - {result.claim.delivery.pk for result in valid}
    written = set(Attempt.objects.filter(delivery__in=ended).values_list("delivery", "started_at"))
    return [result for result in there if (result.claim.delivery.pk, result.started_at) not in written]


class _After(NamedTuple):
    """A delivery after an attempt. `delay`: until the next attempt, None after the last one."""

    delivery: Delivery  # as it was claimed
    status: str
    counted_as: str
    delay: dt.timedelta | None
    is_lost: bool

    def row(self) -> Delivery:
        return Delivery(
            pk=self.delivery.pk,
            status=self.status,
            attempt_count=self.delivery.attempt_count + 1,
            next_attempt_at=None if self.delay is None else Now() + self.delay,
            finished_at=Now() if self.status in (DELIVERED, FAILED) else None,
            counted_as=self.counted_as,
            lost_claims=self.delivery.lost_claims + 1 if self.is_lost else 0,
        )


def _end_claims(valid: Sequence[Result], locked: Mapping[str, Any]) -> list[_After]:
    """Write the outcomes to their deliveries, all successes by one statement; return the states after them."""
    after = [_after(r.claim.delivery, r.outcome, is_held=_is_held(r, locked)) for r in valid]
    delivered: dict[str, list[uuid.UUID]] = defaultdict(list)
    for each in after:
        if each.status == DELIVERED:
            delivered[each.counted_as].append(each.delivery.pk)
    ended: dict[str, Any] = {"lease_token": None, "lease_until": None, "lost_claims": 0, "next_attempt_at": None}
    for counted_as, ids in delivered.items():
        changes = {"status": DELIVERED, "attempt_count": F("attempt_count") + 1, "counted_as": counted_as}
        Delivery.objects.filter(pk__in=ids).update(**changes, **ended, finished_at=Now())
    Delivery.objects.bulk_update([each.row() for each in after if each.status != DELIVERED], CHANGED)
    return after


def _is_held(result: Result, locked: Mapping[str, Any]) -> bool:
    name = result.claim.delivery.channel
    return name in locked and CHANNELS[name].holds(result.claim.delivery, result.outcome, locked[name])


def _after(delivery: Delivery, outcome: Outcome, *, is_held: bool) -> _After:
    ends = outcome.succeeded or is_held
    delay = None if ends else _delay_after(delivery, outcome, delivery.attempt_count + 1)
    status = HELD if is_held else DELIVERED if outcome.succeeded else FAILED if delay is None else PENDING
    has_ended = status in (DELIVERED, FAILED)
    is_counted = delivery.submission_id is not None and has_ended and delivery.counted_as != DELIVERED
    return _After(delivery, status, status if is_counted else delivery.counted_as, delay, outcome.lost)


def _delay_after(delivery: Delivery, outcome: Outcome, failures: int) -> dt.timedelta | None:
    """Return the delay before the next attempt; None after the last one."""
    tried_once = delivery.event in EVENTS and EVENTS[delivery.event].is_tried_once
    is_spent = outcome.tries is not None and failures >= outcome.tries
    if outcome.permanent or outcome.gone or tried_once or is_spent:
        return None
    delay = delay_after(failures, retry_after_seconds=outcome.retry_after_seconds)
    expires_at = delivery.message.expires_at
    is_late = delay is not None and expires_at is not None and now() + delay >= expires_at
    return None if is_late else delay


def _count(after: Sequence[_After]) -> None:
    """Count each delivery once, by its final status; a failed one that a replay delivers is moved."""
    moves = new_moves()
    for each in after:
        before, submission = each.delivery.counted_as, each.delivery.submission
        if submission is not None and not submission.is_test and each.counted_as != before:
            change = {each.counted_as: 1} | ({before: -1} if before else {})
            moves[key_of(submission.form_id, submission.created_at)].update(change)
    apply_moves(moves)


def _drop_secrets(results: Sequence[Result]) -> None:
    """Drop the secret bodies of deliveries that have ended: nothing sends them again."""
    ids = [r.claim.delivery.message_id for r in results if is_secret(r.claim.delivery.event)]
    if ids:
        ended = Delivery.objects.filter(message__in=ids, finished_at__isnull=False)
        Message.objects.filter(pk__in=ended.values("message")).update(secret="")


def _mails_of(results: Sequence[Result]) -> Counter[Key]:
    mails = [r.claim.delivery for r in results if r.claim.delivery.channel == MAIL and r.outcome.succeeded]
    return Counter((mail.organization_id, today()) for mail in mails if mail.organization_id is not None)


def _cancel(results: Sequence[Result]) -> None:
    """Cancel or hold deliveries; those marked as not spam, or activated, since their claim stay pending."""
    with transaction.atomic():
        receivers = _lock_receivers(results, of_webhooks=True)
        spam = _lock_submissions(results)
        receivers |= _lock_receivers(results, of_webhooks=False)  # after the submissions, as dispatch does
        for result in sorted(results, key=lambda each: each.claim.delivery.pk):
            delivery = result.claim.delivery
            if delivery.receiver_id is not None:
                if delivery.receiver_id not in receivers:
                    continue  # deleted, and its deliveries with it
                delivery.receiver = receivers[delivery.receiver_id]
            if delivery.submission is not None:
                delivery.submission.spam = delivery.submission_id in spam
            _cancel_one(result)
        _drop_secrets(results)


def _cancel_one(result: Result) -> None:
    delivery = result.claim.delivery
    status = CHANNELS[delivery.channel].gate(delivery)
    changes: dict[str, object] = {"lease_token": None, "lease_until": None, "lost_claims": 0}
    if status != PENDING:
        changes |= {"status": status, "next_attempt_at": None, "finished_at": Now() if status == CANCELED else None}
    Delivery.objects.filter(pk=delivery.pk, lease_token=result.claim.token).update(**changes)


def _lock_receivers(results: Sequence[Result], *, of_webhooks: bool) -> dict[uuid.UUID | None, Receiver]:
    of_channel = [each.claim.delivery for each in results if (each.claim.delivery.channel == WEBHOOK) is of_webhooks]
    ids = {delivery.receiver_id for delivery in of_channel if delivery.receiver_id}
    rows = Receiver._base_manager.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
    return {receiver.pk: receiver for receiver in rows} if ids else {}


def _lock_submissions(results: Sequence[Result]) -> set[uuid.UUID]:
    """Lock the submissions, as everything that deletes or marks one does first, and return those that are spam now."""
    ids = {pk for result in results if (pk := result.claim.delivery.submission_id)}
    rows = Submission.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
    return {pk for pk, spam in rows.values_list("pk", "spam") if spam}


def _attempt(result: Result) -> Attempt:
    outcome, delivery = result.outcome, result.claim.delivery
    recorded = len(outcome.response_excerpt.encode()) + len(result.request.encode())
    return Attempt(
        delivery_id=delivery.pk,
        started_at=result.started_at,
        status=outcome.status,
        duration_ms=outcome.duration_ms,
        error=outcome.error,
        response=outcome.response_excerpt,
        request=result.request,
        receiver=delivery.receiver_id if recorded else None,
        recorded=recorded,
    )
