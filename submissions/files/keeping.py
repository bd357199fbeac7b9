"""Store files: first their rows, then their bytes; and the allowance of files that wait for their submission."""

import datetime as dt
import logging
import uuid
from collections.abc import Iterable, Sequence

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import transaction
from django.db.models import QuerySet, Sum
from django.utils.translation import gettext

from config.api.errors import invalid
from config.base.times import now
from keys.models import Organization
from keys.plans import show_bytes
from submissions.files import storage
from submissions.files.arrived import Checked
from submissions.models import StoredFile

UNUSED_SHARE = 10  # unused files take at most a tenth of the plan's storage
STORING = dt.timedelta(hours=1)  # longer than any file takes; rows without bytes are deleted then
ROWS_A_BATCH = 200

logger = logging.getLogger(__name__)


def keep_files(
    files: Sequence[Checked],
    *,
    organization_id: uuid.UUID,
    form_id: uuid.UUID,
    kept: dt.timedelta,
    address: str = "",
    is_by_itself: bool = False,
) -> list[StoredFile]:
    """
    Store files that no submission uses yet, for `kept`; their bytes are on disk when this returns.

    `is_by_itself`: sent before its submission, so that the allowances count it: the organization's and that of
    `address`, the sender's `client_network`. The oldest such files give way to new ones. Not within a transaction.
    Raises FilesAway, and ValidationFailed for a file larger than an allowance; then nothing is kept.
    """
    if not files:
        return []
    moment = now()
    rows = [
        StoredFile(
            organization_id=organization_id,
            form_id=form_id,
            field=file.arrived.field,
            place=place,
            name=file.arrived.name,
            size=file.arrived.size,
            content_type=file.content_type,
            sha256=file.arrived.sha256,
            scan=StoredFile.Scan.PENDING if settings.CLAMD_URL else StoredFile.Scan.NONE,
            address=address if is_by_itself else "",  # the allowances count rows with an address
            created_at=moment,
            expires_at=moment + min(kept, STORING),
        )
        for place, file in enumerate(files)
    ]
    with transaction.atomic(durable=True):
        if is_by_itself:
            _make_room(rows, address=address)
        StoredFile.objects.bulk_create(rows)
    try:
        for row, file in zip(rows, files, strict=True):
            storage.keep(row.pk, file.arrived.content, size=row.size)
        _note_stored(rows, kept)
    except BaseException:
        _undo(rows)
        raise
    return rows


def give_up(rows: Iterable[StoredFile]) -> None:
    """Give up files that no submission uses: the purge deletes their bytes, then their rows."""
    ids = [row.pk for row in rows]
    if ids:
        StoredFile.objects.filter(pk__in=ids, submission_id=None, removed_at=None).update(removed_at=now())


def unused_files() -> QuerySet[StoredFile]:
    """Return the files that the allowances count: sent by themselves, not used and not removed."""
    return StoredFile.objects.filter(submission_id=None, removed_at=None).exclude(address="")


def _make_room(rows: Sequence[StoredFile], *, address: str) -> None:
    """
    Remove the oldest unused files of the organization and of the address, as far as new ones need their room.

    Requests at the same moment do not see each other's rows: each may exceed the allowance by its own files, until the
    next one.
    """
    organization = Organization.objects.get(pk=rows[0].organization_id)
    need, unused = sum(row.size for row in rows), unused_files()
    for waiting, allowance in (
        (unused.filter(organization_id=organization.pk), organization.storage_allowance // UNUSED_SHARE),
        (unused.filter(address=address), settings.FILES_UNUSED_BYTES),
    ):
        if need > allowance:
            text = gettext("must be smaller than %(most)s to be sent before the form.")
            raise invalid(rows[0].field, "too_large", text % {"most": show_bytes(allowance)})
        excess = (waiting.aggregate(all=Sum("size"))["all"] or 0) + need - allowance
        if excess > 0:
            _remove_oldest(waiting, excess)


def _remove_oldest(waiting: QuerySet[StoredFile], excess: int) -> None:
    """
    Remove the oldest files of at least `excess` bytes.

    One that is just being stored, or that a submission is taking, is passed over: its sender would get an error.
    """
    oldest = (
        waiting.filter(stored_at__isnull=False)
        .order_by("pk")
        .values_list("pk", "size")
        .select_for_update(skip_locked=True, no_key=True)
    )
    while excess > 0 and (found := list(oldest[:ROWS_A_BATCH])):
        going = []
        for pk, size in found:
            if excess > 0:
                going.append(pk)
                excess -= size
        waiting.filter(pk__in=going).update(removed_at=now())


def _note_stored(rows: Sequence[StoredFile], kept: dt.timedelta) -> None:
    moment = now()
    ours = StoredFile.objects.filter(pk__in=[row.pk for row in rows], removed_at=None)
    if ours.update(stored_at=moment, expires_at=moment + kept) != len(rows):
        raise storage.FilesAway  # removed meanwhile, to make room or since it took more than an hour
    for row in rows:
        row.stored_at, row.expires_at = moment, moment + kept


def _undo(rows: Sequence[StoredFile]) -> None:
    """Delete bytes that may be there already, then the rows. What fails is left to the purge. Never raises."""
    for row in rows:
        try:
            storage.remove(row.pk)
            StoredFile.objects.filter(pk=row.pk, submission_id=None).delete()
        except (storage.FilesAway, DatabaseError) as error:  # it expires within the hour
            logger.warning("files: %s is left to expire: %s", row.public_id, error)
