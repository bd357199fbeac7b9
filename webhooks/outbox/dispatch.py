"""
From submissions to deliveries: which targets of which channels receive the events of a submission.

A row without `dispatched_at` is not dispatched yet. One short transaction creates its deliveries, updates the tallies
and sets the mark, so a crash leaves either all of it or none. No network call happens here.
"""

import datetime as dt
import time
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Case, QuerySet, Value, When
from django.db.models.functions import Now

from config.base.database import database_now, now_in_sql
from config.base.ids import new_id
from forms_app.models import Form
from forms_app.texts.replies import Reply
from submissions.confirmations import may_be_answered, want_mails
from submissions.counts.positions import next_positions, number_missed, store_positions
from submissions.counts.stored_bytes import add_stored_bytes, size_of, with_size
from submissions.counts.tally import apply_moves, key_of, new_moves
from submissions.counts.usage import note_usage, today
from submissions.files.records import load_files
from submissions.models import Submission, SubmitterMail
from webhooks.channels.registry import CHANNELS
from webhooks.enqueue import Target
from webhooks.events import EVENTS, Event
from webhooks.models import Delivery, Message
from webhooks.outbox.batches import Batches
from webhooks.outbox.insert_deliveries import insert_deliveries, insert_messages, new_delivery
from webhooks.outbox.recorded import record_mails

ROWS_A_BATCH = 200
MISSED_SECONDS = 60.0
MESSAGES_A_STATEMENT = 50  # a body can have 1 MiB
PENDING, CANCELED = Delivery.Status.PENDING, Delivery.Status.CANCELED
_next_missed = 0.0  # monotonic
KEPT, SPAM, TEST = Submission.CountedAs.KEPT, Submission.CountedAs.SPAM, Submission.CountedAs.TEST
_KEPT_UNLESS_TEST = f"CASE counted_as WHEN '{TEST}' THEN '{TEST}' ELSE '{KEPT}' END"


def dispatch_batch() -> int:
    """
    Dispatch some of the oldest rows and return how many; a row that fails does not delay the others.

    Without any, give positions to rows that an older release dispatched, now and then.
    """
    return _submissions.run_one() or number_missed_rows()


def number_missed_rows() -> int:
    """Give positions to rows that an older release dispatched, now and then; return to how many."""
    global _next_missed
    if time.monotonic() < _next_missed:
        return 0
    number = number_missed(ROWS_A_BATCH)
    if number < ROWS_A_BATCH:
        _next_missed = time.monotonic() + MISSED_SECONDS
    return number


def _waiting() -> QuerySet[Submission]:
    return Submission.objects.dispatchable()


def _dispatch_some(waiting: QuerySet[Submission]) -> int:
    with transaction.atomic():
        rows = with_size(waiting.defer("search_text")).select_for_update(skip_locked=True, no_key=True)
        taken = list(rows[:ROWS_A_BATCH])
        _dispatch(taken)
        return len(taken)


def _dispatch(rows: Sequence[Submission]) -> None:
    if not rows:
        return
    make_deliveries(rows)
    count_rows(rows)
    spam = [row.pk for row in rows if row.spam]
    counted_as = Case(When(counted_as=TEST, then=Value(TEST)), default=Value(SPAM))
    Submission.objects.undispatched().filter(pk__in=spam).update(dispatched_at=Now(), counted_as=counted_as)
    _mark_kept([row for row in rows if not row.spam])


def _mark_kept(rows: Sequence[Submission]) -> None:
    """Set the mark of rows that are not spam, and the position of those without one."""
    new = next_positions((row.organization_id, row.is_test, row.pk) for row in rows if row.position is None)
    store_positions(
        {row.pk: new.get(row.pk, row.position) for row in rows},
        changes=f"dispatched_at = {now_in_sql()}, counted_as = {_KEPT_UNLESS_TEST}, ",
        condition="dispatched_at IS NULL",  # again: SQLite ignores the row lock, and this still holds there
    )


def count_rows(rows: Iterable[Submission]) -> None:
    """
    Count rows that no dispatch has counted yet: in the tallies of their hour of arrival, stored bytes, usage.

    They come `with_size`.
    """
    moves = new_moves()
    sizes: Counter[uuid.UUID] = Counter()
    uncounted = [row for row in rows if row.counted_as == Submission.CountedAs.NOTHING]
    for row in uncounted:
        moves[key_of(row.form_id, row.created_at)].update({"received": 1, SPAM if row.spam else KEPT: 1})
        sizes[row.organization_id] += size_of(row)
    apply_moves(moves)
    if uncounted:
        totals = add_stored_bytes(sizes)
        note_usage(
            submissions=Counter((row.organization_id, row.created_at.date()) for row in uncounted),
            stored_bytes={(pk, today()): total for pk, total in totals.items()},
        )


def make_deliveries(rows: Sequence[Submission]) -> None:
    """Store the messages and deliveries of the events that these rows cause."""
    forms = Form.objects.in_bulk({row.form_id for row in rows})
    for row in rows:
        row.form = forms[row.form_id]
    load_files(rows)
    deliveries: list[dict[str, Any]] = []
    moment = database_now()
    for event in EVENTS.values():
        if causing := [row for row in rows if event.is_caused_by(row)]:
            deliveries += _deliveries_of(event, causing, moment)
    # A submission that was marked as not spam may have its deliveries already.
    insert_deliveries(deliveries, moment)
    record_mails([row for row in rows if row.is_test])
    want_mails([row for row in rows if _is_answered(row)], SubmitterMail.Kind.REPLY)
    _resume_canceled([row for row in rows if row.released_at and not row.spam])


def _is_answered(row: Submission) -> bool:
    return bool(row.form.reply) and Reply.of(row.form.reply).enabled and may_be_answered(row)


def _deliveries_of(event: Event, rows: Sequence[Submission], moment: dt.datetime) -> list[dict[str, Any]]:
    wanted: dict[uuid.UUID, list[Target]] = {row.pk: [] for row in rows}
    with_body: set[uuid.UUID] = set()
    for channel in CHANNELS.values():
        for pk, targets in channel.targets_of(event, rows).items():
            wanted[pk] += targets
            if targets and channel.uses_body:
                with_body.add(pk)
    messages = _messages_of(event, [row for row in rows if wanted[row.pk]], with_body, moment)
    statuses: dict[tuple[str, str, bool, bool], str] = {}
    deliveries = []
    for row in rows:
        for target in wanted[row.pk]:
            # A channel's gate asks no more of a new delivery than these: one answer for each, not for each row.
            key = (target.channel, target.name, row.spam, row.is_test)
            if key not in statuses:
                statuses[key] = _first_status(row, messages[row.pk], target)
            deliveries.append(new_delivery(row, messages[row.pk].pk, event.name, target, statuses[key]))
    return deliveries


def _messages_of(
    event: Event, rows: Sequence[Submission], with_body: Collection[uuid.UUID], moment: dt.datetime
) -> dict[uuid.UUID | None, Message]:
    """Return the event's message for each submission, stored once; the body is written when a channel uses it."""
    # Only a row that was dispatched before, and is again, can have one.
    again = [row for row in rows if row.counted_as != Submission.CountedAs.NOTHING]
    stored = Message.objects.filter(event=event.name, submission__in=again)
    messages = {message.submission_id: message for message in stored.defer("body")}
    empty = set(stored.filter(body="").values_list("pk", flat=True)) if messages else set()
    new, filled = [], []
    for row in rows:
        message = messages.get(row.pk)
        if message is None:
            pk = row.pk if event.has_submission_id else new_id()
            body = event.write(row) if row.pk in with_body else ""
            messages[row.pk] = Message(id=pk, event=event.name, submission_id=row.pk, body=body)
            new.append(messages[row.pk])
        elif message.pk in empty and row.pk in with_body:
            message.body = event.write(row)
            filled.append(message)
    insert_messages(new, moment)
    Message.objects.bulk_update(filled, ["body"], batch_size=MESSAGES_A_STATEMENT)
    return messages


def _first_status(row: Submission, message: Message, target: Target) -> str:
    delivery = target.delivery(message, row.organization_id)
    delivery.submission = row
    return CHANNELS[target.channel].gate(delivery)


def _resume_canceled(rows: Sequence[Submission]) -> None:
    """Make canceled deliveries of these submissions, now marked as not spam, pending again if they may be sent."""
    released: dict[uuid.UUID | None, Submission] = {row.pk: row for row in rows}
    if not released:
        return
    canceled = list(Delivery.objects.filter(submission__in=released, status=CANCELED).select_related("receiver"))
    for delivery in canceled:
        delivery.submission = released[delivery.submission_id]
    again = [each.pk for each in canceled if each.channel in CHANNELS and CHANNELS[each.channel].gate(each) == PENDING]
    unsent = Delivery.objects.filter(pk__in=again, status=CANCELED)
    unsent.update(status=PENDING, next_attempt_at=Now(), attempt_count=0, finished_at=None)


_submissions = Batches("submission", waiting=_waiting, dispatch=_dispatch_some)
