"""
Mark as read, as spam or not spam, and delete. All but the first change the tallies in the same transaction.

Marks are for every member of an organization: the inbox is shared (docs/design.md).
"""

import uuid
from collections.abc import Callable, Collection, Sequence
from functools import partial

from django.db import transaction

from config.api.errors import Unauthorized
from config.api.find_owned import require_all_owned
from config.base.nudge import DELIVER, nudge
from config.base.times import now
from submissions.counts.positions import next_positions, take_back
from submissions.counts.stored_bytes import add_stored_bytes, stored_bytes_of
from submissions.counts.tally import apply_moves, key_of_row, new_moves
from submissions.counts.usage import note_usage, today
from submissions.files.removal import remove_files
from submissions.lifecycle.held import NOT_HELD, held_for_quota, make_room
from submissions.lifecycle.recording import record_submissions
from submissions.models import Submission
from submissions.serializers import BulkAction

_before_deleting: list[Callable[[Sequence[uuid.UUID]], object]] = []
MARKED_BY_HAND = "marked as spam"
CHANGED = ["spam", "spam_reasons", "held", "held_until", "released_at", "dispatched_at", "counted_as", "position"]
NEEDED_TO_DELETE = ("form_id", "organization_id", "created_at", "counted_as", "held", "imported_in_id")
KEPT, SPAM, NOTHING = Submission.CountedAs.KEPT, Submission.CountedAs.SPAM, Submission.CountedAs.NOTHING
UNCOUNTED = (NOTHING, Submission.CountedAs.TEST)


def mark_read(ids: Sequence[uuid.UUID], *, organization_id: uuid.UUID, is_read: bool = True) -> int:
    """Mark an organization's submissions as read or unread; return how many changed."""
    wanted = Submission.objects.filter(pk__in=ids, organization=organization_id, is_read=not is_read)
    return wanted.update(is_read=is_read)


def mark_spam(submission: Submission) -> Submission:
    """Mark a submission as spam; its pending deliveries are canceled, and it is no longer held."""
    mark_many([submission.pk], organization_id=submission.organization_id, spam=True)
    return Submission.objects.get(pk=submission.pk)


def mark_not_spam(submission: Submission) -> Submission:
    """Mark a submission as not spam. It is dispatched like a new one, to the current recipients."""
    mark_many([submission.pk], organization_id=submission.organization_id, spam=False)
    return Submission.objects.get(pk=submission.pk)


def mark_many(ids: Sequence[uuid.UUID], *, organization_id: uuid.UUID, spam: bool) -> int:
    """Mark an organization's submissions as spam or not, all or none; return how many changed."""
    with transaction.atomic():
        wanted = Submission.objects.filter(pk__in=ids, organization=organization_id, spam=not spam).order_by("pk")
        rows = list(wanted.select_for_update().defer("search_text", "data"))
        was_held, moves = held_for_quota(rows), new_moves()
        for row in rows:
            row.spam, row.spam_reasons = spam, [MARKED_BY_HAND] if spam else []
            if row.held:
                row.held, row.held_until = NOT_HELD, now()
            if not spam and not row.is_imported:
                row.released_at, row.dispatched_at = now(), None
            if row.counted_as not in UNCOUNTED:
                key = key_of_row(row)
                moves[key].update({row.counted_as: -1})  # `held` has no column there: it is received only
                row.counted_as = SPAM if spam else KEPT
                moves[key].update({row.counted_as: 1})
        apply_moves(moves)
        make_room(was_held)
        if spam:
            take_back(rows)
        else:
            _place_imported(rows)
        Submission.objects.bulk_update(rows, CHANGED)
        record_submissions(rows, "submissions.marked_spam" if spam else "submissions.marked_not_spam")
    if not spam:
        nudge(DELIVER)
    return len(rows)


def _place_imported(rows: Sequence[Submission]) -> None:
    """Make imported rows that are no longer spam readable now: no dispatch will do it, and nothing is delivered."""
    unplaced = [row for row in rows if row.is_imported and row.position is None]
    positions = next_positions((row.organization_id, row.is_test, row.pk) for row in unplaced)
    for row in unplaced:
        row.position = positions[row.pk]


def delete_many(ids: Sequence[uuid.UUID], *, organization_id: uuid.UUID) -> int:
    own = Submission.objects.filter(pk__in=ids, organization=organization_id)
    return delete_submissions(list(own.values_list("pk", flat=True)), is_recorded=True)


def before_deleting(act: Callable[[Sequence[uuid.UUID]], object]) -> None:
    """Register what an app does before submissions are deleted, with their ids, in the same transaction."""
    if act not in _before_deleting:
        _before_deleting.append(act)


def delete_submissions(ids: Sequence[uuid.UUID], *, is_recorded: bool = False) -> int:
    """
    Delete submissions; return how many. `is_recorded`: in the audit trail, of the one organization that owns them.

    A submission that was not counted yet is counted as received now. Idempotency keys are kept, so that a client's
    retry does not store a deleted submission again.
    """
    with transaction.atomic():
        wanted = Submission.objects.only(*NEEDED_TO_DELETE)
        rows = list(wanted.filter(pk__in=ids).select_for_update().order_by("pk"))
        moves = new_moves()
        for row in (row for row in rows if not row.is_test):
            change = {"received": 1} if row.counted_as == NOTHING else {row.counted_as: -1}
            moves[key_of_row(row)].update(change)
        counted = [row.pk for row in rows if row.counted_as not in UNCOUNTED]
        freed = stored_bytes_of(Submission.objects.filter(pk__in=counted)) if counted else {}
        for act in _before_deleting:
            act([row.pk for row in rows])
        remove_files(submission_id__in=[row.pk for row in rows])
        Submission.objects.filter(pk__in=[row.pk for row in rows]).delete()
        apply_moves(moves)
        make_room(held_for_quota(rows))
        totals = add_stored_bytes({organization: -size for organization, size in freed.items()})
        note_usage(stored_bytes={(organization, today()): total for organization, total in totals.items()})
        if is_recorded:
            record_submissions(rows, "submissions.deleted")
    return len(rows)


ACTS: dict[str, Callable[..., int]] = {
    BulkAction.DELETE: delete_many,
    BulkAction.SPAM: partial(mark_many, spam=True),
    BulkAction.NOT_SPAM: partial(mark_many, spam=False),
}


def change_many(
    ids: Collection[uuid.UUID], *, action: str, organization_id: uuid.UUID, only_tests: bool = False
) -> int:
    """
    Apply an action to submissions with distinct ids, all or none (docs/contract.md 5.60); return how many changed.

    Raises NotFound if one does not exist, Unauthorized if one is another organization's, or live with `only_tests`.
    """
    with transaction.atomic():
        locked = Submission.objects.select_for_update().order_by("pk")
        require_all_owned(locked, ids, organization_id)
        if only_tests and Submission.objects.filter(pk__in=ids).of_mode(test=False).exists():
            raise Unauthorized
        changed = ACTS[action](ids, organization_id=organization_id)
    nudge(DELIVER)  # the one of `mark_many` may be read before this transaction ends
    return changed
