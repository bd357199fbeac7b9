"""
Write a submission: one INSERT, and with an idempotency key a second one that reserves the key.

`201` means that this statement's commit is on disk. All that follows from a submission is derived from its row. One
that is held takes a transaction of four statements; files become those of the submission in its transaction.
"""

import dataclasses
import datetime as dt
import sqlite3
import threading
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from config.api.errors import Conflict
from config.base.database import database_id, execute_prepared
from config.base.ids import made_at, new_id
from forms_app.models import Form
from keys.models import Organization
from submissions.confirmations import ask_submitters
from submissions.counts.positions import next_positions
from submissions.counts.stored_bytes import add_stored_bytes, stored_bytes_of
from submissions.counts.tally import apply_moves, key_of, new_moves
from submissions.counts.usage import note_usage
from submissions.files.attaching import attach
from submissions.json_text import dump_json
from submissions.models import IdempotencyKey, StoredFile, Submission
from submissions.receiving.once import Once
from submissions.receiving.parse_body import Intake
from submissions.search_text import search_text

KEPT = Submission.CountedAs.KEPT
DEFAULT_MESSAGE = gettext_noop("Submission received.")  # translated on pages only
CONFIRM_MESSAGE = gettext_noop("Almost done: open the mail that we have sent you, and confirm.")  # likewise
COLUMNS = (
    "id", "organization_id", "form_id", "data", "search_text", "controls", "meta", "spam", "spam_reasons",
    "created_at", "counted_as", "files_size",
)  # fmt: skip
_INTO = f"INSERT INTO {Submission._meta.db_table} ({', '.join(COLUMNS)}) VALUES"
_INSERT = f"{_INTO} ({', '.join(['%s'] * len(COLUMNS))})"


@dataclasses.dataclass(frozen=True, slots=True)
class Stored:
    """A stored submission; `replayed` if an earlier request with the same idempotency key stored it."""

    id: uuid.UUID
    created_at: dt.datetime
    message: str
    replayed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Hold:
    """
    Why a submission is held when it is stored. `most`: as many as its organization may hold for quota. `unconfirmed`:
    its submitter has to confirm the address, perhaps after that hold.
    """

    why: str
    unconfirmed: bool = False
    most: int = 0


class TooManyHeld(Exception):
    """The organization holds as many submissions as it may."""


def message_of(form: Form) -> str:
    """Return a form's success message."""
    return form.success_message or (CONFIRM_MESSAGE if form.confirmation else DEFAULT_MESSAGE)


def store(
    form: Form,
    intake: Intake,
    meta: Mapping[str, str | None],
    *,
    spam_reasons: Sequence[str] = (),
    once: Once | None = None,
    hold: Hold | None = None,
    files: Sequence[StoredFile] = (),
    test: bool = False,
) -> Stored:
    """
    Store a submission, unless `once`, an idempotency key, has stored one in this form: then return that one.

    `hold`: None: it is not held. `files`: become those of the submission. `test`: it is a test submission.
    Raises Conflict when the key came with another body before, TooManyHeld, and ValidationFailed for a file that
    another submission has taken meanwhile.
    """
    pk = new_id()
    stored = Stored(pk, made_at(pk), message_of(form))
    request_id = structlog.contextvars.get_contextvars().get("request_id")  # for the log lines of failed deliveries
    more = {Submission.REQUEST_ID: request_id} if request_id else {}
    more |= {Submission.CONFIRM: "asked"} if hold and hold.unconfirmed else {}
    created_at = connection.ops.adapt_datetimefield_value(stored.created_at)
    row = [  # the values of COLUMNS
        database_id(pk),
        database_id(form.organization_id),
        database_id(form.pk),
        dump_json(intake.values),
        search_text(list(intake.values.values())),
        dump_json(intake.controls | more),
        dump_json(meta),
        bool(spam_reasons),
        dump_json(spam_reasons),
        created_at,
        Submission.CountedAs.TEST.value if test else "",
        sum(file.size for file in files),
    ]
    if once is None and hold is None and not files:
        _insert(row)
        return stored
    # The reservation of the key and the row, or neither: only a 201 is ever remembered, and SQLite syncs once. Of two
    # requests at the same time the second waits for the first one's commit at the unique index.
    with transaction.atomic():
        earlier = once.reserve(form.pk, [database_id(pk), stored.message, created_at]) if once else None
        if earlier is None:
            _insert(row)
            if hold and test:
                _hold_test(form, stored, hold)
            elif hold:
                _hold(form, stored, hold)
            if files:
                attach(pk, files)
    if earlier is None:
        return stored
    if once and earlier.body_sha256 != once.body_sha256:
        raise Conflict("This Idempotency-Key came with another body before. Use a new key for a new submission.")
    return replay(earlier)


def replay(earlier: IdempotencyKey) -> Stored:
    """Return what an idempotency key has stored."""
    pk = earlier.submission_id
    return Stored(pk, made_at(pk), earlier.message, replayed=True)


def _insert(row: list[Any]) -> None:
    if connection.vendor == "sqlite":
        _on_sqlite.insert(row)
    else:
        execute_prepared(_INSERT, row)


def _hold(form: Form, stored: Stored, hold: Hold) -> None:
    """
    Hold a row that the caller's transaction has inserted: for quota, or until it is confirmed.

    It is counted now, and looks dispatched, so that neither dispatch nor a total has to skip thousands of held rows. An
    unconfirmed one is counted as received only, and cannot be read, so it has no position.
    """
    row, day, is_shown = Submission.objects.filter(pk=stored.id), stored.created_at.date(), _is_shown(hold)
    moves = new_moves()
    moves[key_of(form.pk, stored.created_at)].update({"received": 1} | ({KEPT: 1} if is_shown else {}))
    apply_moves(moves)
    if hold.why == Submission.Held.QUOTA:
        room = Organization.objects.filter(pk=form.organization_id, held_posts__lt=hold.most)
        if not room.update(held_posts=F("held_posts") + 1):
            raise TooManyHeld
    totals = add_stored_bytes(stored_bytes_of(row))
    note_usage(
        submissions={(form.organization_id, day): 1},
        stored_bytes={(organization, day): total for organization, total in totals.items()},
    )
    counted_as = KEPT if is_shown else Submission.CountedAs.HELD
    _mark_held(form, stored, hold, counted_as=counted_as)


def _hold_test(form: Form, stored: Stored, hold: Hold) -> None:
    """Hold a test submission, which is counted nowhere."""
    _mark_held(form, stored, hold, counted_as=Submission.CountedAs.TEST)


def _mark_held(form: Form, stored: Stored, hold: Hold, *, counted_as: str) -> None:
    row, position = Submission.objects.filter(pk=stored.id), None
    if _is_shown(hold):
        is_test = counted_as == Submission.CountedAs.TEST
        position = next_positions([(form.organization_id, is_test, stored.id)])[stored.id]
    row.update(held=hold.why, dispatched_at=Now(), counted_as=counted_as, position=position)
    if not _is_shown(hold):
        ask_submitters(row)


def _is_shown(hold: Hold) -> bool:
    return hold.why != Submission.Held.CONFIRMATION


def _is_plain(django: BaseDatabaseWrapper) -> bool:
    """Connect if necessary. Return whether Django's cursor would only run a statement and its commit."""
    django.ensure_connection()
    return not (django.in_atomic_block or django.execute_wrappers or django.queries_logged)


class _Row:
    """A row that waits. `turn` is free once it is settled, or once its thread is to write (`leads`)."""

    __slots__ = ("error", "is_written", "leads", "turn", "values")

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values
        self.leads = False
        self.is_written = False
        self.error: Exception | None = None
        self.turn = threading.Lock()
        self.turn.acquire()


class SharedInserts:
    """
    Inserts into one table of SQLite, with one commit for rows that wait together.

    SQLite has one writer. A thread that finds it busy sleeps for 1, 2, 5 and up to 100 ms, however soon it is free
    again, and most of a submission's time was this sleep (docs/adr/0107). So threads of a process queue here. One of
    them inserts every row that waits, its own included, by one statement, and each returns after the commit of its row.
    """

    def __init__(self, head: str, columns: int) -> None:
        """`head`: the statement up to VALUES. `columns`: how many values a row has."""
        self._head = head
        self._one = f"({', '.join('?' * columns)})"
        self._lock = threading.Lock()  # of the next two, for moments
        self.waiting: list[_Row] = []  # at most one for each thread of the process
        self.is_led = False

    def insert(self, values: Sequence[Any]) -> None:
        """
        Insert a row, whose commit is on disk when this returns; in a transaction, the row belongs to that.

        Raises Django's errors, of this row only.
        """
        django = connections["default"]
        if not _is_plain(django):
            with django.cursor() as cursor:
                cursor.execute(f"{self._head} {self._one.replace('?', '%s')}", values)
            return
        own = _Row(values)
        with self._lock:
            self.waiting.append(own)
            if not self.is_led:
                self.is_led = own.leads = True
        if not own.leads:
            own.turn.acquire()
        if own.leads:
            self._lead(django.connection, own)
        if not own.is_written:
            with django.wrap_database_errors:
                raise own.error or sqlite3.OperationalError("the thread that was to write this row has ended")

    def _lead(self, raw: sqlite3.Connection, own: _Row) -> None:
        """Write all rows that wait, then let a thread lead whose row has come meanwhile."""
        with self._lock:
            rows, self.waiting = self.waiting, []
        try:
            self._write(raw, rows)
        finally:
            with self._lock:
                following = self.waiting[:1]
                self.is_led = bool(following)
            for row in following:
                row.leads = True
            for row in [*rows, *following]:
                if row is not own:
                    row.turn.release()

    def _write(self, raw: sqlite3.Connection, rows: Sequence[_Row]) -> None:
        """Insert all rows or, if one of them is refused, each by itself. What fails is a row's `error`."""
        error = self._run(raw, rows)
        # A locked file, or a full disk, would fail each of them, and the lock after its time for each.
        if error is None or len(rows) == 1 or isinstance(error, sqlite3.OperationalError):
            return
        for place, row in enumerate(rows):
            error = self._run(raw, [row])
            if isinstance(error, sqlite3.OperationalError):
                for other in rows[place:]:
                    other.error = error
                return

    def _run(self, raw: sqlite3.Connection, rows: Sequence[_Row]) -> Exception | None:
        """Insert rows by one statement; tell them how it ended, and return its error."""
        marks = ", ".join([self._one] * len(rows))
        try:
            raw.execute(f"{self._head} {marks}", [value for row in rows for value in row.values])
        except Exception as error:
            for row in rows:
                row.error = error
            return error
        for row in rows:
            row.is_written = True
        return None


_on_sqlite = SharedInserts(_INTO, len(COLUMNS))
