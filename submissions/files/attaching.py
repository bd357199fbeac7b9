"""Files that were stored before become those of a submission."""

import uuid
from collections.abc import Sequence

from config.base.times import now
from forms_app.field_definitions import FieldDefinition
from submissions.files.checks import BAD_ID, refusal
from submissions.models import StoredFile


def usable(ids: Sequence[uuid.UUID], *, form_id: uuid.UUID, field: FieldDefinition) -> list[StoredFile]:
    """
    Return the files with these ids, in this order.

    Raises ValidationFailed unless each is there once, for this form and field, stored, unused and not expired. It does
    not say which it was, so that nobody learns of files of others.
    """
    unused = StoredFile.objects.filter(form_id=form_id, field=field["name"], submission_id=None, removed_at=None)
    found = unused.filter(stored_at__isnull=False, expires_at__gt=now()).in_bulk(ids) if ids else {}
    if len(found) != len(ids):  # an id that occurs twice is found once
        raise refusal(field, BAD_ID)
    return [found[pk] for pk in ids]


def attach(submission_id: uuid.UUID, rows: Sequence[StoredFile]) -> None:
    """
    Make these the files of a submission, in this order, in the caller's transaction.

    Raises ValidationFailed, so that nothing is stored, if one was used or removed since it was looked up.
    """
    # By id: of two submissions that name the same files in opposite orders each would wait for the other.
    for place, row in sorted(enumerate(rows), key=lambda one: one[1].pk):
        unused = StoredFile.objects.filter(
            pk=row.pk, form_id=row.form_id, field=row.field, submission_id=None, removed_at=None
        )
        changes = {"submission_id": submission_id, "place": place, "expires_at": None, "address": ""}
        if unused.filter(stored_at__isnull=False).update(**changes) != 1:
            raise refusal({"name": row.field, "label": row.field}, BAD_ID)
