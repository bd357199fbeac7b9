"""
Claim what is due, send it, record what came of it (ARCHITECTURE, "the way of a submission").

A claim is a lease: a token and an end, written in a short transaction. Sending happens outside any transaction, and a
result counts only where the token still stands, so a worker that died or was overtaken changes nothing. Every time is
the database's, in SQL.
"""

import dataclasses
import datetime as dt
import uuid
from collections import Counter
from collections.abc import Sequence

from django.conf import settings
from django.db import transaction
from django.db.models import Count
from django.db.models.functions import Now

from config.times import now
from submissions.models import Submission
from submissions.tally import Moves, apply_moves, key_of, new_moves
from webhooks.channels.outcome import ErrorClass, Outcome
from webhooks.models import Attempt, Delivery, Webhook
from webhooks.outbox.retry_schedule import delay_after, is_beyond_hope
from webhooks.registration import FAILING, GONE, disable, tell_owners_of_disabling

IN_FLIGHT_PER_WEBHOOK = 4  # requests at once to one endpoint, over all hosts
CANDIDATES = 64  # due rows looked at in one claim
PENDING, DELIVERED, FAILED = Delivery.Status.PENDING, Delivery.Status.DELIVERED, Delivery.Status.FAILED


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """A delivery taken by its `token`; `delivery` is loaded with its webhook, form and submission."""

    delivery: Delivery
    token: uuid.UUID


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """A claim, what came of it, and when the attempt began."""

    claim: Claim
    outcome: Outcome
    started_at: dt.datetime


def claim_due(limit: int) -> list[Claim]:
    """
    Take at most `limit` due deliveries, oldest first, no more than four at once for one webhook.

    Claim no more than can be started at once: the lease runs from now.
    """
    if limit < 1 or not Delivery.objects.due().exists():
        return []
    token = uuid.uuid4()
    with transaction.atomic():
        chosen = _choose(limit)
        # due() again: whoever waited for this row's lock must see that another has taken it.
        lease_until = Now() + dt.timedelta(seconds=settings.DELIVERY_LEASE_SECONDS)
        taken = Delivery.objects.due().filter(pk__in=chosen).update(lease_token=token, lease_until=lease_until)
    if not taken:
        return []
    claimed = Delivery.objects.filter(lease_token=token).select_related("webhook__form", "submission__form")
    return [Claim(delivery, token) for delivery in claimed.order_by("next_attempt_at", "id")]


def _choose(limit: int) -> list[uuid.UUID]:
    """Return what to take: the cap holds because the webhook's row is locked while its live leases are counted."""
    busy = [webhook for webhook, live in _live_leases().items() if live >= IN_FLIGHT_PER_WEBHOOK]
    due = Delivery.objects.due().exclude(webhook__in=busy).order_by("next_attempt_at", "id")
    candidates = list(due.values_list("pk", "webhook_id")[:CANDIDATES])
    wanted = {webhook for _, webhook in candidates if webhook}
    lockable = Webhook.objects.filter(pk__in=wanted).order_by("pk").select_for_update(skip_locked=True, no_key=True)
    locked = set(lockable.values_list("pk", flat=True))
    live = _live_leases()
    chosen: list[uuid.UUID] = []
    for pk, webhook in candidates:
        if len(chosen) == limit:
            break
        if webhook is None or (webhook in locked and live[webhook] < IN_FLIGHT_PER_WEBHOOK):
            live[webhook] += 1
            chosen.append(pk)
    return chosen


def _live_leases() -> "Counter[uuid.UUID | None]":
    """Return how many requests are in flight for each webhook."""
    leased = Delivery.objects.filter(lease_token__isnull=False, lease_until__gte=Now(), webhook__isnull=False)
    return Counter(dict(leased.order_by().values_list("webhook").annotate(n=Count("pk"))))


def record(results: Sequence[Result]) -> None:
    """
    Write down what came of attempts: the log, the next time or the end, the webhook's health, the tallies.

    Locks webhooks, submissions, deliveries, then tallies, each in key order: the order of every transaction here. What
    was deleted meanwhile has nothing to be written about.
    """
    with transaction.atomic():
        webhooks = _lock_webhooks(results)
        spam = _lock_submissions(results)
        moves = new_moves()
        made, canceled = _split(_still_there(results))
        for result in canceled:
            _cancel(result, spam=spam, webhooks=webhooks)
        standing = [result for result in made if _record_one(result, moves)]
        Attempt.objects.bulk_create([_attempt(result) for result in made])
        for result in sorted(standing, key=lambda r: r.started_at):
            webhook = webhooks.get(result.claim.delivery.webhook_id)
            if webhook and result.claim.delivery.kind != Delivery.Kind.TEST:
                _note_health(webhook, result.outcome)
        apply_moves(moves)


def _lock_webhooks(results: Sequence[Result]) -> dict[uuid.UUID | None, Webhook]:
    ids = {pk for result in results if (pk := result.claim.delivery.webhook_id)}
    rows = Webhook.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True, of=("self",))
    return {webhook.pk: webhook for webhook in rows.select_related("form")}


def _lock_submissions(results: Sequence[Result]) -> set[uuid.UUID]:
    """Lock the submissions, which whoever deletes or marks one does first, and return those that are spam now."""
    ids = {pk for result in results if (pk := result.claim.delivery.submission_id)}
    rows = Submission.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
    return {pk for pk, spam in rows.values_list("pk", "spam") if spam}


def _still_there(results: Sequence[Result]) -> list[Result]:
    """Return the results whose delivery was not deleted with its webhook or its submission, in key order."""
    ids = {result.claim.delivery.pk for result in results}
    there = set(Delivery.objects.filter(pk__in=ids).values_list("pk", flat=True))
    return sorted((r for r in results if r.claim.delivery.pk in there), key=lambda r: r.claim.delivery.pk)


def _split(results: Sequence[Result]) -> tuple[list[Result], list[Result]]:
    """Return the attempts that were made, and those that were canceled before anything was sent."""
    made = [result for result in results if result.outcome.error != ErrorClass.CANCELED]
    return made, [result for result in results if result.outcome.error == ErrorClass.CANCELED]


def _cancel(result: Result, *, spam: set[uuid.UUID], webhooks: dict[uuid.UUID | None, Webhook]) -> None:
    """Cancel a delivery, or give it back when it was marked as not spam, or activated, since it was claimed."""
    delivery = result.claim.delivery
    webhook = webhooks.get(delivery.webhook_id)
    changes: dict[str, object] = {"lease_token": None, "lease_until": None}
    if delivery.submission_id in spam or (webhook and webhook.status != Webhook.Status.ACTIVE):
        changes |= {"status": Delivery.Status.CANCELED, "next_attempt_at": None, "finished_at": Now()}
    Delivery.objects.filter(pk=delivery.pk, lease_token=result.claim.token).update(**changes)


def _record_one(result: Result, moves: Moves) -> bool:
    """Write the outcome on its delivery; tell whether the claim still stood."""
    delivery, outcome = result.claim.delivery, result.outcome
    changes = _changes(delivery, outcome)
    held = Delivery.objects.filter(pk=delivery.pk, lease_token=result.claim.token)
    stands = bool(held.update(lease_token=None, lease_until=None, **changes))
    if stands and changes["status"] in (DELIVERED, FAILED) and delivery.submission:
        _count_end(delivery, str(changes["status"]), moves)
    return stands


def _changes(delivery: Delivery, outcome: Outcome) -> dict[str, object]:
    """Return the columns that an outcome sets."""
    failures = delivery.attempt_count + 1
    if outcome.succeeded:
        return {"status": DELIVERED, "attempt_count": failures, "next_attempt_at": None, "finished_at": Now()}
    delay = None
    if not (outcome.permanent or outcome.gone or delivery.kind == Delivery.Kind.TEST):
        delay = delay_after(failures, retry_after_seconds=outcome.retry_after_seconds)
    if delay is None:
        return {"status": FAILED, "attempt_count": failures, "next_attempt_at": None, "finished_at": Now()}
    return {"status": PENDING, "attempt_count": failures, "next_attempt_at": Now() + delay}


def _count_end(delivery: Delivery, status: str, moves: Moves) -> None:
    """Count a delivery once, as it ended; one that failed and was replayed with success moves over."""
    if delivery.counted_as in (status, DELIVERED):
        return
    submission = delivery.submission
    assert submission is not None  # noqa: S101 - the caller looked
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


def _note_health(webhook: Webhook, outcome: Outcome) -> None:
    """Keep the count of failures since the last success; disable an endpoint that is gone or beyond hope."""
    if outcome.succeeded:
        if webhook.failure_count:
            webhook.failing_since, webhook.failure_count = None, 0
            webhook.save(update_fields=["failing_since", "failure_count"])
        return
    webhook.failing_since = webhook.failing_since or now()
    webhook.failure_count += 1
    webhook.save(update_fields=["failing_since", "failure_count"])
    hopeless = is_beyond_hope(webhook.failing_since, webhook.failure_count, now())
    if webhook.status == Webhook.Status.ACTIVE and (outcome.gone or hopeless):
        disable(webhook, GONE if outcome.gone else FAILING)
        tell_owners_of_disabling(webhook)
