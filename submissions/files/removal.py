"""
Delete files: first the bytes, then the row, so that a crash between the two leaves a row that is tried again.

`removed_at` is set in the transactions that delete submissions and forms. A job of the deliverers deletes such files
within seconds; the hourly clean-up finds the rest. Two hosts may delete the same file: the result is the same, so
nothing is locked while the storage works.
"""

from django.db.models import Exists, OuterRef, Q, QuerySet

from config.base.times import now
from forms_app.models import Form
from submissions.files import storage
from submissions.files.keeping import STORING
from submissions.models import StoredFile, Submission

ROWS_A_BATCH = 200
FAILURES_A_RUN = 3  # then the storage is unavailable, and the next run tries again


def remove_files(**which: object) -> None:
    """Remove `which` files, in the caller's transaction, which deletes their submissions or their form."""
    StoredFile.objects.filter(removed_at=None, **which).update(removed_at=now())


def purge_files() -> int:
    """
    Delete the files that are expired, not stored whole, removed, or of a submission or form that does not exist.

    Returns how many.
    """
    _mark(StoredFile.objects.filter(expires_at__lte=now()))
    _mark(_without_owner())
    return remove_due()


def remove_due() -> int:
    """Delete the bytes and rows of removed files; return how many. While the storage is unavailable, they stay."""
    if not storage.is_reachable():
        return 0
    started, done, failed = now(), 0, 0
    # Bytes that are just being stored would be there after their row: such rows wait longer than storing takes.
    is_quiet = Q(stored_at__isnull=False) | Q(created_at__lt=started - STORING)
    due = StoredFile.objects.filter(is_quiet, removed_at__lte=started).order_by("removed_at", "pk")
    while failed < FAILURES_A_RUN and (batch := list(due.values_list("pk", flat=True)[:ROWS_A_BATCH])):
        for pk in batch:
            try:
                storage.remove(pk)
            except storage.FilesAway:
                StoredFile.objects.filter(pk=pk).update(removed_at=now())  # behind all others, in a later run
                failed += 1
                if failed == FAILURES_A_RUN:
                    break
            else:
                done += StoredFile.objects.filter(pk=pk, removed_at__isnull=False).delete()[0]
    return done


def _without_owner() -> QuerySet[StoredFile]:
    """Return the rows whose submission is gone, or whose form is; an organization's forms go with it."""
    submission = Submission.objects.filter(pk=OuterRef("submission_id"))
    form = Form.objects.filter(pk=OuterRef("form_id"))
    return StoredFile.objects.filter(Q(submission_id__isnull=False) & ~Exists(submission) | ~Exists(form))


def _mark(rows: QuerySet[StoredFile]) -> None:
    left = rows.filter(removed_at=None)
    while batch := list(left.values_list("pk", flat=True)[:ROWS_A_BATCH]):
        left.filter(pk__in=batch).update(removed_at=now())
