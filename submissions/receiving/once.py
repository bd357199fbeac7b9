"""Idempotency keys of submissions: the row that a form, a key and its sender have once (docs/contract.md 5.17)."""

import dataclasses
import hashlib
import uuid
from typing import Any

from django.db import connection
from django.db.models.functions import Now

from config.base.database import database_id
from submissions.models import IdempotencyKey

_RESERVE = (
    f"INSERT INTO {IdempotencyKey._meta.db_table} "  # noqa: S608 - names from code
    "(form_id, key, sender, body_sha256, submission_id, message, created_at) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (form_id, key) DO NOTHING"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Once:
    """
    An idempotency key with the body that came with it.

    `sender`: a page, or a holder of a secret key: strangers read our examples, and would use up the keys of servers.
    Test mode is a third one.
    """

    key: str
    sender: str
    body_sha256: str

    def reserve(self, form_id: uuid.UUID, rest: list[Any]) -> IdempotencyKey | None:
        """Store the row, with `rest` for its last columns, or return the one that this key has already."""
        of_form = IdempotencyKey.objects.filter(form_id=form_id)
        for name in self._names():
            with connection.cursor() as cursor:
                cursor.execute(_RESERVE, [database_id(form_id), name, self.sender, self.body_sha256, *rest])
                if cursor.rowcount:
                    return None
            earlier = of_form.get(key=name)
            if self._counts(earlier):
                return earlier
            # Another sender's. It must not end before ours: a retry would find this name free, and store again.
            of_form.filter(key=name).update(created_at=Now())
        raise AssertionError("the second name is of one sender")

    def find(self, form_id: uuid.UUID) -> IdempotencyKey | None:
        """Return the row of this key, if it came with the same body."""
        known = IdempotencyKey.objects.filter(form_id=form_id, key__in=self._names(), body_sha256=self.body_sha256)
        return next(filter(self._counts, known), None)

    def _names(self) -> tuple[str, str]:
        """
        Return the key, and a name that no client can send, for a key that another sender has.

        The index has no column for the sender: code of the last release inserts with ON CONFLICT (form_id, key), and
        has to find the rows that are stored next to it.
        """
        return self.key, f"§{self.sender} {hashlib.sha256(self.key.encode()).hexdigest()}"

    def _counts(self, row: IdempotencyKey) -> bool:
        return row.sender in ("", self.sender)
