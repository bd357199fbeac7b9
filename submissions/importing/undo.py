"""Undo an import within a day: its submissions are hidden, then deleted in batches (docs/contract.md 5.86)."""

import datetime as dt

from django.db import transaction
from django.utils.translation import gettext

from config.api.errors import Conflict
from config.api.find_owned import still_there
from config.base.times import now
from config.clean_up import delete_in_batches
from keys.audit import record_event
from submissions.lifecycle.spam_marks import delete_submissions
from submissions.models import Import, ImportedRow, Submission

UNDONE_WITHIN = dt.timedelta(hours=24)  # of the last call
DELETED_IN_REQUEST = 5_000  # submissions; more are deleted by the next hourly clean-up
ROWS_A_BATCH = 500


def undo_import(batch: Import) -> int:
    """Undo an import; return how many submissions it had, 0 if it was undone before. Raises Conflict after a day."""
    with transaction.atomic():
        locked = still_there(Import.objects.select_for_update(no_key=True), batch.pk)
        if locked.undone_at:
            return 0
        if locked.last_call_at < now() - UNDONE_WITHIN:
            raise Conflict(gettext("An import can be undone for 24 hours. Delete its submissions instead."))
        locked.undone_at = now()
        locked.save(update_fields=["undone_at"])
        number = locked.stored
        subject = f"{number:,} of {locked.form}"
        record_event(organization=locked.organization_id, action="submissions.import_undone", subject=subject)
    _delete(locked, most=DELETED_IN_REQUEST)
    return number


def _delete(batch: Import, *, most: int | None = None) -> int:
    """Delete the submissions of an undone import in batches, `most` at most; return how many."""
    rows = Submission.objects.filter(imported_in=batch.pk).order_by("pk").values_list("pk", flat=True)
    deleted, rest = 0, rows
    while ids := list(rest[:ROWS_A_BATCH]):
        if most is not None and deleted >= most:
            return deleted
        deleted += delete_submissions(ids)
        rest = rows.filter(pk__gt=ids[-1])
    delete_in_batches(ImportedRow.objects.filter(imported_in=batch.pk), by="pk")
    Import.objects.filter(pk=batch.pk).update(deleted_at=now())
    return deleted


def finish_undoing() -> int:
    """Delete what undone imports still have; return how many. Not of suspended organizations."""
    undone = Import.objects.being_deleted().filter(organization__suspended_at=None)
    return sum(_delete(batch) for batch in list(undone))
