"""
Store rows of an import: each once, with its own time, without anything that a new submission causes.

One transaction for a call. The form's lock lets calls of one form follow each other, so that a row that two of them
bring is known to the second; the unique digest holds in any case. Locks: form, import, organization, positions.
"""

import dataclasses
import datetime as dt
import hashlib
import hmac
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from config.api.errors import Conflict, QuotaExceeded
from config.api.find_owned import still_there
from config.base.ids import new_id_at
from config.base.times import now
from forms_app.models import Form
from keys.audit import record_event
from keys.audit.changes import changes
from submissions.counts.positions import next_positions
from submissions.counts.stored_bytes import add_stored_bytes
from submissions.counts.tally import apply_moves, new_moves
from submissions.counts.usage import note_usage, today
from submissions.importing.rows import Problem, Row, read_rows
from submissions.json_text import dump_json
from submissions.models import Import, ImportedRow, Submission
from submissions.search_text import search_text

KEPT, SPAM = Submission.CountedAs.KEPT, Submission.CountedAs.SPAM
IMPORTED_AS_SPAM = gettext_noop("imported as spam")
META = {"ip": None, "userAgent": None, "origin": None, "referer": None}


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """`import_id`: None of a dry run. `skipped`: rows that the form knew. `problems`: in the order of the rows."""

    import_id: uuid.UUID | None
    imported: int
    skipped: int
    problems: list[Problem]


def import_rows(
    form: Form, raw_rows: Sequence[Any], *, source: str, earlier: Import | None = None, is_dry: bool = False
) -> Outcome:
    """
    Import rows into a form, as a new import or a further part of an `earlier` one.

    `raw_rows`: as the API takes them, numbers as NumberText. With `is_dry` all is checked and done, and then taken
    back. Raises Conflict for an archived form, and for an import that was undone or is of another form; QuotaExceeded
    if the rows have no room, before the first one is stored.
    """
    rows, problems = read_rows(raw_rows, oldest=oldest_kept(form))
    with transaction.atomic():
        own = _open_form(form)
        batch = _continue(earlier, own) if earlier else Import(organization_id=own.organization_id, form=own)
        new, known, conflicting = _sift(own, rows, source)
        if sum(map(_size, new.values())) > own.organization.room_for_files and new:
            raise QuotaExceeded
        if earlier is None:
            _begin(batch, source)
        _store(batch, new)
        transaction.set_rollback(is_dry)
    problems = sorted(problems + conflicting, key=lambda problem: problem.row)
    return Outcome(None if is_dry else batch.pk, len(new), known, problems)


def oldest_kept(form: Form) -> dt.datetime | None:
    """Return the time before which the form deletes submissions; None: it keeps all."""
    return now() - dt.timedelta(days=form.retention_days) if form.retention_days is not None else None


def _open_form(form: Form) -> Form:
    """Return the form, locked. It cannot be archived or erased meanwhile."""
    locked = Form.objects.select_for_update(no_key=True, of=("self",)).select_related("organization")
    own = still_there(locked, form.pk)
    if own.status == Form.Status.ARCHIVED:
        raise Conflict(gettext("The form is archived. Import into a form that is not."))
    return own


def _continue(earlier: Import, form: Form) -> Import:
    """Return the import, locked: it is not undone meanwhile."""
    batch = still_there(Import.objects.select_for_update(no_key=True), earlier.pk)
    if batch.form_id != form.pk:
        raise Conflict(gettext("This import belongs to another form. Leave `importId` out to begin a new one."))
    if batch.undone_at:
        raise Conflict(gettext("This import was undone. Leave `importId` out to begin a new one."))
    Import.objects.filter(pk=batch.pk).update(last_call_at=now())
    return batch


def _begin(batch: Import, source: str) -> None:
    batch.source = source
    batch.save(force_insert=True)
    told = changes({}, {"import": batch.public_id, "source": source})
    record_event(
        organization=batch.organization_id, action="submissions.imported", subject=str(batch.form), changes=told
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Mark:
    """How a row is known: see ImportedRow."""

    digest: bytes
    values_digest: bytes | None


def _sift(form: Form, rows: Iterable[Row], source: str) -> tuple[dict[_Mark, Row], int, list[Problem]]:
    """Return the rows to store, how many are known, and the problem of each that came before with other values."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    marked = [(row, [_mark(row, source, key) for key in keys]) for row in rows]
    digests = [mark.digest for _, marks in marked for mark in marks]
    of_form = ImportedRow.objects.filter(form=form, digest__in=digests)
    of_form.filter(imported_in__undone_at__isnull=False).delete()  # forgotten, and not deleted yet
    known = {bytes(one): other and bytes(other) for one, other in of_form.values_list("digest", "values_digest")}
    new: dict[_Mark, Row] = {}
    skipped, problems = 0, []
    for row, marks in marked:
        found = next((mark for mark in marks if mark.digest in known), None)
        if found is None:
            new[marks[0]] = row
            known[marks[0].digest] = marks[0].values_digest
        elif found.values_digest == known[found.digest]:
            skipped += 1
        else:
            message = gettext("A row with this id and other values was imported before.")
            problems.append(Problem(row.place, "sourceId", "duplicate", message))
    return new, skipped, problems


def _mark(row: Row, source: str, key: str) -> _Mark:
    values = sorted(row.values.items())
    if row.source_id is None:
        return _Mark(_digest(key, [source, row.created_at.isoformat(), values]), None)
    return _Mark(_digest(key, [source, row.source_id]), _digest(key, values))


def _digest(key: str, content: Any) -> bytes:
    return hmac.digest(f"import {key}".encode(), dump_json(content).encode(), hashlib.sha256)


def _size(row: Row) -> int:
    """Return the stored bytes of a row, as `submissions.counts.stored_bytes` counts them."""
    return len(dump_json(row.values).encode()) + len(dump_json(META).encode())


def _store(batch: Import, new: Mapping[_Mark, Row]) -> None:
    if not new:
        return
    marks = [
        ImportedRow(form_id=batch.form_id, imported_in=batch, digest=mark.digest, values_digest=mark.values_digest)
        for mark in new
    ]
    ImportedRow.objects.bulk_create(marks)
    moves = new_moves()
    for row in new.values():
        moves[batch.pk, None][SPAM if row.spam else KEPT] += 1
    apply_moves(moves)
    totals = add_stored_bytes({batch.organization_id: sum(map(_size, new.values()))})
    note_usage(stored_bytes={(pk, today()): total for pk, total in totals.items()})
    made = [_submission(batch, row) for row in new.values()]
    positions = next_positions((one.organization_id, False, one.pk) for one in made if not one.spam)
    for submission in made:
        submission.position = positions.get(submission.pk)
    Submission.objects.bulk_create(made)


def _submission(batch: Import, row: Row) -> Submission:
    """Return a submission that looks dispatched and read: nothing is delivered for it, and nobody has to open it."""
    return Submission(
        id=new_id_at(row.created_at),
        organization_id=batch.organization_id,
        form_id=batch.form_id,
        data=row.values,
        search_text=search_text(list(row.values.values())),
        meta=META,
        spam=row.spam,
        spam_reasons=[IMPORTED_AS_SPAM] if row.spam else [],
        created_at=row.created_at,
        dispatched_at=now(),
        counted_as=SPAM if row.spam else KEPT,
        is_read=True,
        imported_in=batch,
    )
