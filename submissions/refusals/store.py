"""
Store refusals: find their owner, merge a flood into fewer rows, and write a buffer in one transaction.

Refusals of one kind and hour are one row with a count, also from several processes.
"""

import dataclasses
import datetime as dt
import hashlib
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import connection, transaction
from django.db.models import Count

from config.base.database import database_id
from config.base.times import now
from forms_app.models import Form
from keys.models import AccessKey
from submissions.counts.usage import Key, note_usage
from submissions.models import Refusal

MOST_AN_HOUR = 500  # kinds of one organization in an hour; beyond, only form, key and codes are distinguished
MANY = "many"  # the detail code of merged refusals without a code


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """A kind of refusal. Without an organization, `digest` (of the key used) and `form_id` may lead to it."""

    organization_id: uuid.UUID | None
    form_id: uuid.UUID | None
    key_id: uuid.UUID | None
    digest: str
    code: str
    detail_code: str = ""
    field: str = ""
    origin: str = ""
    message: str = ""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the columns in which equal refusals of an organization agree."""
        parts = (self.form_id, self.key_id, self.code, self.detail_code, self.field, self.origin, self.message)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def merged(self) -> "Refused":
        """Return a copy without the columns that a flood could vary."""
        return dataclasses.replace(self, detail_code=self.detail_code or MANY, field="", origin="", message="")


@dataclasses.dataclass(slots=True)
class Times:
    """A count, and the times of the first and last one."""

    count: int
    first: dt.datetime
    last: dt.datetime

    def add(self, other: "Times") -> None:
        self.count += other.count
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)


Kinds = Mapping[Refused, Times]
_TABLE = Refusal._meta.db_table
_COLUMNS = (
    "organization_id", "form_id", "access_key_id", "code", "detail_code", "field", "origin", "message", "count",
    "hour", "first_at", "last_at", "fingerprint",
)  # fmt: skip
_UPSERT = (
    f"INSERT INTO {_TABLE} ({', '.join(_COLUMNS)}) VALUES ({', '.join(['%s'] * len(_COLUMNS))}) "  # noqa: S608 - names from code
    f"ON CONFLICT (organization_id, hour, fingerprint) DO UPDATE SET count = {_TABLE}.count + excluded.count, "
    "last_at = excluded.last_at"
)


def write_refusals(kinds: Kinds) -> None:
    """Upsert buffered refusals into this hour's rows; drop those that belong to no organization."""
    hour = now().replace(minute=0, second=0, microsecond=0)
    rows = _sum(_in_bounds(_sum(_owned(kinds)), hour))
    # In a fixed order, so that two processes cannot deadlock.
    ordered = sorted(rows.items(), key=lambda row: (str(row[0].organization_id), row[0].fingerprint))
    if ordered:
        with transaction.atomic(), connection.cursor() as cursor:  # one commit, so one sync of SQLite's file
            cursor.executemany(_UPSERT, [_values(refused, times, hour) for refused, times in ordered])
            usage = Counter[Key]()
            for refused, times in ordered:
                if refused.organization_id is not None:
                    usage[refused.organization_id, hour.date()] += times.count
            note_usage(refusals=usage)


def _sum(found: Iterable[tuple[Refused, Times]]) -> dict[Refused, Times]:
    """Add up refusals that are now equal."""
    rows: dict[Refused, Times] = {}
    for refused, times in found:
        if refused in rows:
            rows[refused].add(times)
        else:
            rows[refused] = dataclasses.replace(times)
    return rows


def _owned(kinds: Kinds) -> Iterable[tuple[Refused, Times]]:
    """Find the owner of refusals without a valid key: of the revoked or expired key, or else of the form."""
    digests = {refused.digest for refused in kinds} - {""}
    found = AccessKey.objects.filter(digest__in=digests).values_list("digest", "pk", "organization") if digests else []
    keys = {digest: (pk, organization) for digest, pk, organization in found}
    named = {refused.form_id for refused in kinds if refused.form_id}
    owners = dict(Form.objects.filter(pk__in=named).values_list("pk", "organization")) if named else {}
    for refused, times in kinds.items():
        key_id, organization_id = refused.key_id, refused.organization_id
        form_owner = owners.get(refused.form_id) if refused.form_id else None
        if organization_id is None:
            key_id, organization_id = keys.get(refused.digest, (None, form_owner))
        if organization_id is not None:
            form_id = refused.form_id if form_owner == organization_id else None
            owned = dataclasses.replace(refused, organization_id=organization_id, form_id=form_id, key_id=key_id)
            yield dataclasses.replace(owned, digest=""), times


def _in_bounds(kinds: Kinds, hour: dt.datetime) -> Iterable[tuple[Refused, Times]]:
    """Merge new kinds once an organization's hour is full. Concurrent processes may exceed the bound."""
    fingerprints = {refused: refused.fingerprint for refused in kinds}
    rows = Refusal.objects.filter(hour=hour, organization__in={refused.organization_id for refused in kinds})
    counts = dict(rows.values_list("organization").annotate(Count("pk")).order_by())
    known = set(rows.filter(fingerprint__in=fingerprints.values()).values_list("organization", "fingerprint"))
    for refused, times in kinds.items():
        owner = refused.organization_id
        if (owner, fingerprints[refused]) not in known:
            counts[owner] = counts.get(owner, 0) + 1
            if counts[owner] > MOST_AN_HOUR:
                yield refused.merged(), times
                continue
        yield refused, times


def _values(refused: Refused, times: Times, hour: dt.datetime) -> list[Any]:
    ids = [refused.organization_id, refused.form_id, refused.key_id]
    moments = [connection.ops.adapt_datetimefield_value(moment) for moment in (hour, times.first, times.last)]
    texts = [refused.code, refused.detail_code, refused.field, refused.origin, refused.message]
    return [*(pk and database_id(pk) for pk in ids), *texts, times.count, *moments, refused.fingerprint]
