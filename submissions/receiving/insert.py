"""
Writing a submission: one INSERT, and beside it the reservation of its idempotency key.

`201` means that this statement's commit is on disk. Everything else that a submission causes is derived from its row.
"""

import dataclasses
import datetime as dt
import hashlib
import uuid
from typing import Any

from django.db import connection, transaction

from config.api.errors import Conflict
from config.database import database_id
from config.ids import made_at, new_id
from submissions.json_text import dump_json
from submissions.models import IdempotencyKey, Submission
from submissions.receiving.key_and_form import FoundForm
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
    """What the answer tells; `replayed` when an earlier request with the same idempotency key stored it."""

    id: uuid.UUID
    created_at: dt.datetime
    message: str
    replayed: bool = False


def store(form: FoundForm, intake: Intake, meta: dict[str, str | None]) -> Stored:
    """Store a submission."""
    pk = new_id()
    _insert(pk, form, intake, meta)
    return Stored(pk, made_at(pk), message_of(form))


def message_of(form: FoundForm) -> str:
    """Return what a form says to who has submitted."""
    return form.success_message or DEFAULT_MESSAGE


def store_once(form: FoundForm, intake: Intake, meta: dict[str, str | None], *, key: str, raw_body: bytes) -> Stored:
    """
    Store a submission unless this form's idempotency key has stored one; then return that one.

    Both rows or none are committed, so only a 201 is ever remembered, and SQLite syncs once instead of twice. Two
    requests at once: the second waits for the first one's commit at the unique index. Raises Conflict when the key
    came with another body.
    """
    pk = new_id()
    body_sha256 = hashlib.sha256(raw_body).hexdigest()
    with transaction.atomic(), connection.cursor() as cursor:
        message = message_of(form)
        reservation = [database_id(form.id), key, body_sha256, database_id(pk), message, _moment(made_at(pk))]
        cursor.execute(_RESERVE, reservation)
        if cursor.rowcount:
            _insert(pk, form, intake, meta)
            return Stored(pk, made_at(pk), message)
    return _earlier(form.id, key, body_sha256)


def find_earlier(form_id: uuid.UUID, *, key: str, raw_body: bytes) -> Stored | None:
    """Return what this idempotency key has stored with this very body, or None."""
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


def _insert(pk: uuid.UUID, form: FoundForm, intake: Intake, meta: dict[str, str | None]) -> None:
    values: list[Any] = [
        database_id(pk),
        database_id(form.organization_id),
        database_id(form.id),
        dump_json(intake.values),
        search_text(list(intake.values.values())),
        dump_json(intake.controls),
        dump_json(meta),
        bool(intake.spam_reasons),
        dump_json(intake.spam_reasons),
        _moment(made_at(pk)),
        "",
    ]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, values)


def _moment(value: dt.datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(value)
