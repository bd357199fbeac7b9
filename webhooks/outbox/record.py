"""
Recording the outcomes of attempts: the log, the delivery's next state, the endpoint's health, the tallies.

A result counts only while the row still has the token of its claim. Every time is the database's, in SQL.
"""

import uuid
from collections import Counter
from collections.abc import Sequence

from django.db import transaction
from django.db.models.functions import Now

from config.times import now
from submissions.models import Submission
from submissions.tally import Moves, apply_moves, key_of, new_moves
from submissions.usage import Key, note_usage, today
from webhooks.channels.outcome import Outcome
from webhooks.channels.registry import CHANNELS, channel_of
from webhooks.enqueue import MAIL
from webhooks.events import EVENTS, is_secret
from webhooks.models import Attempt, Delivery, ErrorClass, Message, Webhook
from webhooks.outbox.retry_schedule import delay_after
from webhooks.outbox.send import Result

PENDING, DELIVERED, FAILED = Delivery.Status.PENDING, Delivery.Status.DELIVERED, Delivery.Status.FAILED
CANCELED = Delivery.Status.CANCELED


def record(results: Sequence[Result]) -> None:
    """
    Record the outcomes of attempts, in one transaction.

    Locks webhooks, submissions, deliveries, then tallies, each in key order, as every transaction here does. Skips
    results whose delivery was deleted meanwhile.
    """
    with transaction.atomic():
        webhooks = _lock_webhooks(results)
        spam = _lock_submissions(results)
        moves = new_moves()
        there = _still_there(results)
        for result in there:
            _refresh(result.claim.delivery, webhooks, spam)
        made, canceled = _split(there)
        for result in canceled:
            _cancel(result)
        valid = [result for result in made if _record_one(result, moves)]
        Attempt.objects.bulk_create([_attempt(result) for result in made])
        for result in sorted(valid, key=lambda each: each.started_at):
            if result.claim.delivery.channel in CHANNELS:
                channel_of(result.claim.delivery).note(result.claim.delivery, result.outcome)
        apply_moves(moves)
        _drop_secrets(there)
        note_usage(mails=_mails_of(valid))


def _drop_secrets(results: Sequence[Result]) -> None:
    """Drop the secret bodies of deliveries that have ended: nothing sends them again."""
    ids = [r.claim.delivery.message_id for r in results if is_secret(r.claim.delivery.event)]
    if ids:
        ended = Delivery.objects.filter(message__in=ids, finished_at__isnull=False)
        Message.objects.filter(pk__in=ended.values("message")).update(secret="")


def _mails_of(results: Sequence[Result]) -> Counter[Key]:
    """Return how many mails of each organization were delivered today."""
    mails = [r.claim.delivery for r in results if r.claim.delivery.channel == MAIL and r.outcome.succeeded]
    return Counter((mail.organization_id, today()) for mail in mails if mail.organization_id is not None)


def _lock_webhooks(results: Sequence[Result]) -> dict[uuid.UUID | None, Webhook]:
    ids = {pk for result in results if (pk := result.claim.delivery.webhook_id)}
    rows = Webhook.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True, of=("self",))
    return {webhook.pk: webhook for webhook in rows.select_related("form")}


def _lock_submissions(results: Sequence[Result]) -> set[uuid.UUID]:
    """Lock the submissions, as everything that deletes or marks one does first, and return those that are spam now."""
    ids = {pk for result in results if (pk := result.claim.delivery.submission_id)}
    rows = Submission.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
    return {pk for pk, spam in rows.values_list("pk", "spam") if spam}


def _still_there(results: Sequence[Result]) -> list[Result]:
    """Return the results whose delivery was not deleted with its webhook or its submission, in key order."""
    ids = {result.claim.delivery.pk for result in results}
    there = set(Delivery.objects.filter(pk__in=ids).values_list("pk", flat=True))
    return sorted((r for r in results if r.claim.delivery.pk in there), key=lambda r: r.claim.delivery.pk)


def _refresh(delivery: Delivery, webhooks: dict[uuid.UUID | None, Webhook], spam: set[uuid.UUID]) -> None:
    """Give a claimed delivery its webhook and submission as they are now: they were loaded before it was sent."""
    delivery.webhook = webhooks.get(delivery.webhook_id)
    if delivery.submission is not None:
        delivery.submission.spam = delivery.submission_id in spam


def _split(results: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    """Return the attempts that were made, and those that were canceled before anything was sent."""
    made = [result for result in results if result.outcome.error != ErrorClass.CANCELED]
    return made, [result for result in results if result.outcome.error == ErrorClass.CANCELED]


def _cancel(result: Result) -> None:
    """Cancel or hold a delivery; keep it pending if it was marked as not spam, or activated, since its claim."""
    delivery = result.claim.delivery
    status = channel_of(delivery).gate(delivery)
    changes: dict[str, object] = {"lease_token": None, "lease_until": None}
    if status != PENDING:
        changes |= {"status": status, "next_attempt_at": None, "finished_at": Now() if status == CANCELED else None}
    Delivery.objects.filter(pk=delivery.pk, lease_token=result.claim.token).update(**changes)


def _record_one(result: Result, moves: Moves) -> bool:
    """Write the outcome to its delivery; return whether the claim was still valid."""
    delivery, outcome = result.claim.delivery, result.outcome
    changes = _changes(delivery, outcome)
    held = Delivery.objects.filter(pk=delivery.pk, lease_token=result.claim.token)
    is_valid = bool(held.update(lease_token=None, lease_until=None, **changes))
    if is_valid and changes["status"] in (DELIVERED, FAILED) and delivery.submission:
        _count_end(delivery, str(changes["status"]), moves)
    return is_valid


def _changes(delivery: Delivery, outcome: Outcome) -> dict[str, object]:
    """Return the columns that an outcome sets."""
    failures = delivery.attempt_count + 1
    if outcome.succeeded:
        return {"status": DELIVERED, "attempt_count": failures, "next_attempt_at": None, "finished_at": Now()}
    delay = None
    tried_once = delivery.event in EVENTS and EVENTS[delivery.event].is_tried_once
    if not (outcome.permanent or outcome.gone or tried_once):
        delay = delay_after(failures, retry_after_seconds=outcome.retry_after_seconds)
    expires_at = delivery.message.expires_at
    if delay is None or (expires_at is not None and now() + delay >= expires_at):
        return {"status": FAILED, "attempt_count": failures, "next_attempt_at": None, "finished_at": Now()}
    return {"status": PENDING, "attempt_count": failures, "next_attempt_at": Now() + delay}


def _count_end(delivery: Delivery, status: str, moves: Moves) -> None:
    """Count a delivery once, by its final status; a failed one that a replay delivers is moved."""
    if delivery.counted_as in (status, DELIVERED):
        return
    submission = delivery.submission
    assert submission is not None  # noqa: S101 - the caller checked
    change = {status: 1} | ({delivery.counted_as: -1} if delivery.counted_as else {})
    moves[key_of(submission.form_id, submission.created_at)].update(change)
    Delivery.objects.filter(pk=delivery.pk).update(counted_as=status)


def _attempt(result: Result) -> Attempt:
    outcome = result.outcome
    return Attempt(
        delivery_id=result.claim.delivery.pk,
        started_at=result.started_at,
        status=outcome.status,
        duration_ms=outcome.duration_ms,
        error=outcome.error,
        response=outcome.response_excerpt,
    )
