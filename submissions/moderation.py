"""Marking as spam, as not spam, and deleting: each moves the tallies in the same transaction."""

import uuid
from collections.abc import Sequence

from django.db import transaction

from config.api.times import now
from config.nudge import DELIVER, nudge
from submissions.models import Submission
from submissions.tally import apply_moves, key_of, new_moves

MARKED_BY_HAND = "marked as spam"
KEPT, SPAM, NOTHING = Submission.CountedAs.KEPT, Submission.CountedAs.SPAM, Submission.CountedAs.NOTHING


def mark_spam(submission: Submission) -> Submission:
    """Take a submission out of sight; what has not been delivered yet will not be."""
    return _mark(submission, spam=True)


def mark_not_spam(submission: Submission) -> Submission:
    """Bring a submission back. It is dispatched like a new one, to those who are to be told now."""
    marked = _mark(submission, spam=False)
    nudge(DELIVER)
    return marked


def _mark(submission: Submission, *, spam: bool) -> Submission:
    with transaction.atomic():
        row = Submission.objects.select_for_update().get(pk=submission.pk)
        if row.spam == spam:
            return row
        row.spam, row.spam_reasons = spam, [MARKED_BY_HAND] if spam else []
        if not spam:
            row.released_at, row.dispatched_at = now(), None
        if row.counted_as != NOTHING:
            moves = new_moves()
            moves[key_of(row.form_id, row.created_at)].update({row.counted_as: -1})
            row.counted_as = SPAM if spam else KEPT
            moves[key_of(row.form_id, row.created_at)].update({row.counted_as: 1})
            apply_moves(moves)
        row.save(update_fields=["spam", "spam_reasons", "released_at", "dispatched_at", "counted_as"])
    return row


def delete_submissions(ids: Sequence[uuid.UUID]) -> int:
    """
    Delete submissions and return how many there were.

    One that was never counted is counted as received on its way out. Their idempotency keys stay, so that a
    client's retry does not bring a deleted submission back.
    """
    with transaction.atomic():
        wanted = Submission.objects.only("form_id", "created_at", "counted_as").filter(pk__in=ids)
        rows = list(wanted.select_for_update().order_by("pk"))
        moves = new_moves()
        for row in rows:
            change = {"received": 1} if row.counted_as == NOTHING else {row.counted_as: -1}
            moves[key_of(row.form_id, row.created_at)].update(change)
        Submission.objects.filter(pk__in=[row.pk for row in rows]).delete()
        apply_moves(moves)
    return len(rows)
