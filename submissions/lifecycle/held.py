"""
Held submissions: stored, but not dispatched until their reason is gone (docs/contract.md 2.11 to 2.15, docs/adr/0092).

`release` ends a hold, for whatever reason it was. A row that has room in the hour, and whose submitter still has to
confirm the address, passes from one hold to the other. `Organization.held_posts` counts the rows held for quota, in the
transactions that change them; locks are taken in the order submissions, tallies, organizations.
"""

import logging
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest

from config.api import ratelimit
from config.base.nudge import DELIVER, nudge
from config.base.times import now
from keys.models import Organization
from submissions.confirmations import ask_submitters
from submissions.counts.positions import take_back
from submissions.counts.tally import apply_moves, key_of, new_moves
from submissions.lifecycle.recording import record_submissions
from submissions.models import Submission

NOT_HELD, QUOTA, CONFIRMATION = Submission.Held.NOT, Submission.Held.QUOTA, Submission.Held.CONFIRMATION
KEPT, COUNTED_AS_HELD = Submission.CountedAs.KEPT, Submission.CountedAs.HELD
COLUMNS = (
    "organization_id",
    "form_id",
    "created_at",
    "held",
    "counted_as",
    "controls",
    "position",
)  # that a hold needs
ROWS_A_BATCH = 200

logger = logging.getLogger(__name__)


def release_by_hand(submission: Submission) -> Submission:
    """Release a submission, which counts nothing. One that is not held stays as it is."""
    release_many([submission.pk], organization_id=submission.organization_id)
    return Submission.objects.get(pk=submission.pk)


def release_many(ids: Sequence[uuid.UUID], *, organization_id: uuid.UUID) -> int:
    """Release an organization's submissions by hand; return how many were held."""
    with transaction.atomic():
        rows = Submission.objects.filter(pk__in=ids, organization=organization_id).exclude(held=NOT_HELD)
        held = list(rows.only(*COLUMNS).order_by("pk").select_for_update())
        released = release(held)
        record_submissions(held, "submissions.released")
    nudge(DELIVER)
    return released


def release_due() -> int:
    """
    Release submissions held for quota, the oldest first, as far as their organization's hour has room.

    Returns how many. Each counts as a browser submission of this hour.
    """
    released = 0
    for organization in Organization.objects.filter(held_posts__gt=0, suspended_at=None).order_by("pk"):
        released += _release_into(organization)
    if released:
        nudge(DELIVER)
    return released


def _release_into(organization: Organization) -> int:
    """Release an organization's oldest submissions into the room of its hour, in batches; return how many."""
    total, is_full = 0, False
    held = Submission.objects.filter(organization=organization, held=QUOTA)
    while not is_full:
        wanted = min(max(organization.held_posts - total, 1), ROWS_A_BATCH)
        reserved, usage = ratelimit.reserve_for_pages(organization.pk, organization.hourly_limit, wanted)
        released = 0
        try:
            released = _release_oldest(organization, held, reserved) if reserved else 0
        finally:
            if released < reserved:
                usage = ratelimit.give_back(usage, reserved - released)
        total += released
        is_full = reserved < ROWS_A_BATCH or released < reserved
        if released:
            ratelimit.note_marks(usage)
    return total


def _release_oldest(organization: Organization, held: QuerySet[Submission], number: int) -> int:
    with transaction.atomic():
        oldest = held.only(*COLUMNS).order_by("pk")
        rows = list(oldest.select_for_update(skip_locked=True, no_key=True)[:number])
        unconfirmed = [row for row in rows if Submission.CONFIRM in row.controls]
        _hold_for_confirmation(unconfirmed)
        released = release(row for row in rows if row not in unconfirmed)
        if not rows:
            _recount(organization)
    return released + len(unconfirmed)


def _hold_for_confirmation(rows: Sequence[Submission]) -> None:
    """Hold locked rows, held for quota until now, until their submitters confirm: they can no longer be read."""
    if not rows:
        return
    moves = new_moves()
    for row in rows:
        moves[key_of(row.form_id, row.created_at)].update({KEPT: -1})
    apply_moves(moves)
    make_room(held_for_quota(rows))
    take_back(rows)
    for row in rows:
        row.held, row.counted_as = CONFIRMATION, COUNTED_AS_HELD
    Submission.objects.bulk_update(rows, ["held", "counted_as", "position"])
    ask_submitters(rows)


def release(rows: Iterable[Submission]) -> int:
    """
    End the hold of locked rows, so that they are dispatched like new ones; return how many.

    Runs inside the caller's transaction.
    """
    held = list(rows)
    moment = now()
    unconfirmed = [row for row in held if row.counted_as == COUNTED_AS_HELD]
    moves = new_moves()
    for row in unconfirmed:
        moves[key_of(row.form_id, row.created_at)].update({KEPT: 1})
    Submission.objects.filter(pk__in=[row.pk for row in unconfirmed]).update(counted_as=KEPT)
    Submission.objects.filter(pk__in=[row.pk for row in held]).update(
        held=NOT_HELD, held_until=moment, released_at=moment, dispatched_at=None
    )
    apply_moves(moves)
    make_room(held_for_quota(held))
    return len(held)


def held_for_quota(rows: Iterable[Submission]) -> Counter[uuid.UUID]:
    """Return how many of these rows are held for quota, by organization."""
    return Counter(row.organization_id for row in rows if row.held == QUOTA)


def make_room(numbers: Mapping[uuid.UUID, int]) -> None:
    """Take rows, locked before and no longer held, out of their organizations' counts; after the tallies."""
    for organization, number in sorted(numbers.items()):
        Organization.objects.filter(pk=organization).update(held_posts=Greatest(F("held_posts") - number, 0))


def _recount(organization: Organization) -> None:
    """Correct a count without rows, or nothing would pass any more. Another process may have released them."""
    found = Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
    held = Submission.objects.filter(organization=organization, held=QUOTA).count()
    if held != found.held_posts:
        logger.warning("organization %s holds %s submissions and had counted %s", found.pk, held, found.held_posts)
        Organization.objects.filter(pk=organization.pk).update(held_posts=held)
