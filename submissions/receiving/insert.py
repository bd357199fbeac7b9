"""
Write a submission: one INSERT, and with an idempotency key a second one that reserves the key.

`201` means that this statement's commit is on disk. All that follows from a submission is derived from its row.
"""

import dataclasses
import datetime as dt
import hashlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, transaction

from config.api.errors import Conflict
from config.database import database_id
from config.ids import made_at, new_id
from submissions.json_text import dump_json
from submissions.models import IdempotencyKey, Submission
from submissions.receiving.key_and_form import SubmitForm
from submissions.receiving.parse_body import Intake
from submissions.search_text import search_text

DEFAULT_MESSAGE = "Submission received."
COLUMNS = (
    "id", "organization_id", "form_id", "data", "search_text", "controls", "meta", "spam", "spam_reasons",
    "created_at", "counted_as",
)  # fmt: skip
_INSERT = (
    f"INSERT INTO {Submission._meta.db_table} ({', '.join(COLUMNS)}) "  # noqa: S608 - names from code
    f"VALUES ({', '.join(['%s'] * len(COLUMNS))})"
)
_RESERVE = (
    f"INSERT INTO {IdempotencyKey._meta.db_table} (form_id, key, body_sha256, submission_id, message, created_at) "  # noqa: S608 - names from code
    "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (form_id, key) DO NOTHING"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Stored:
    """A stored submission; `replayed` if an earlier request with the same idempotency key stored it."""

    id: uuid.UUID
    created_at: dt.datetime
    message: str
    replayed: bool = False


def message_of(form: SubmitForm) -> str:
    """Return a form's success message."""
    return form.success_message or DEFAULT_MESSAGE


def store(
    form: SubmitForm,
    intake: Intake,
    meta: Mapping[str, str | None],
    *,
    spam_reasons: Sequence[str] = (),
    key: str | None = None,
    raw_body: bytes = b"",
) -> Stored:
    """
    Store a submission, unless this form's idempotency key `key` has stored one: then return that one.

    Raises Conflict when the key came with another body before.
    """
    pk = new_id()
    row = _row(pk, form, intake, meta, spam_reasons)
    if key is not None:
        return _store_once(pk, form, row, key, hashlib.sha256(raw_body).hexdigest())
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, row)
    return Stored(pk, made_at(pk), message_of(form))


def _store_once(pk: uuid.UUID, form: SubmitForm, row: list[Any], key: str, body_sha256: str) -> Stored:
    """
    Commit the reservation of the key and the row, or neither.

    So only a 201 is ever remembered, and SQLite syncs once instead of twice. Of two requests at the same time the
    second waits for the first one's commit at the unique index.
    """
    message = message_of(form)
    with transaction.atomic(), connection.cursor() as cursor:
        reservation = [database_id(form.id), key, body_sha256, database_id(pk), message, _moment(made_at(pk))]
        cursor.execute(_RESERVE, reservation)
        if cursor.rowcount:
            cursor.execute(_INSERT, row)
            return Stored(pk, made_at(pk), message)
    return _earlier(form.id, key, body_sha256)


def find_earlier(form_id: uuid.UUID, *, key: str, raw_body: bytes) -> Stored | None:
    """Return what this idempotency key has stored with the same body, or None."""
    body_sha256 = hashlib.sha256(raw_body).hexdigest()
    known = IdempotencyKey.objects.filter(form_id=form_id, key=key, body_sha256=body_sha256).first()
    return None if known is None else _replay(known)


def _earlier(form_id: uuid.UUID, key: str, body_sha256: str) -> Stored:
    earlier = IdempotencyKey.objects.get(form_id=form_id, key=key)
    if earlier.body_sha256 != body_sha256:
        raise Conflict("This Idempotency-Key came with another body before. Use a new key for a new submission.")
    return _replay(earlier)


def _replay(earlier: IdempotencyKey) -> Stored:
    pk = earlier.submission_id
    return Stored(pk, made_at(pk), earlier.message, replayed=True)


def _row(
    pk: uuid.UUID, form: SubmitForm, intake: Intake, meta: Mapping[str, str | None], spam_reasons: Sequence[str]
) -> list[Any]:
    """Return the values of COLUMNS."""
    return [
        database_id(pk),
        database_id(form.organization_id),
        database_id(form.id),
        dump_json(intake.values),
        search_text(list(intake.values.values())),
        dump_json(intake.controls),
        dump_json(meta),
        bool(spam_reasons),
        dump_json(spam_reasons),
        _moment(made_at(pk)),
        "",
    ]


def _moment(value: dt.datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(value)
