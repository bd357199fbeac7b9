"""
Writing down what was refused: whose it is, how much of it is told apart, and one transaction for all that waited.

Rows of one kind and hour are one row with a number, whichever processes write them.
"""

import dataclasses
import datetime as dt
import hashlib
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import connection, transaction
from django.db.models import Count

from config.database import database_id
from config.times import now
from forms_app.models import Form
from keys.models import AccessKey
from submissions.models import Refusal

MOST_AN_HOUR = 500  # kinds of one organization in an hour; beyond, only form, key and codes are told apart
MANY = "many"  # the detail's code of those that are not told apart and have none of their own


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """One kind of refusal. Without an organization, `digest` (of the key shown) and `form_id` may tell whose it is."""

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
        """What makes two refusals of an organization alike."""
        parts = (self.form_id, self.key_id, self.code, self.detail_code, self.field, self.origin, self.message)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def in_fewer_words(self) -> "Refused":
        """Return the same without what a flood could vary."""
        return dataclasses.replace(self, detail_code=self.detail_code or MANY, field="", origin="", message="")


@dataclasses.dataclass(slots=True)
class Times:
    """How often, from when to when."""

    count: int
    first: dt.datetime
    last: dt.datetime

    def add(self, other: "Times") -> None:
        """Count these too."""
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
    """Write what was noted, adding to what stands there of the same hour; what is nobody's is dropped."""
    hour = now().replace(minute=0, second=0, microsecond=0)
    rows = _sum(_in_bounds(_sum(_owned(kinds)), hour))
    # In one order, so that two processes wait for each other's rows but never in a circle.
    ordered = sorted(rows.items(), key=lambda row: (str(row[0].organization_id), row[0].fingerprint))
    if ordered:
        with transaction.atomic(), connection.cursor() as cursor:  # one commit, so one sync of SQLite's file
            cursor.executemany(_UPSERT, [_values(refused, times, hour) for refused, times in ordered])


def _sum(found: Iterable[tuple[Refused, Times]]) -> dict[Refused, Times]:
    """Add up what has become alike."""
    rows: dict[Refused, Times] = {}
    for refused, times in found:
        if refused in rows:
            rows[refused].add(times)
        else:
            rows[refused] = dataclasses.replace(times)
    return rows


def _owned(kinds: Kinds) -> Iterable[tuple[Refused, Times]]:
    """Find out whose a refusal without a valid key is: of a revoked or expired key, else of the form that it named."""
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
            ours = dataclasses.replace(refused, organization_id=organization_id, form_id=form_id, key_id=key_id)
            yield dataclasses.replace(ours, digest=""), times


def _in_bounds(kinds: Kinds, hour: dt.datetime) -> Iterable[tuple[Refused, Times]]:
    """Tell new kinds in fewer words once an organization's hour has its rows. Processes at once may pass the bound."""
    fingerprints = {refused: refused.fingerprint for refused in kinds}
    rows = Refusal.objects.filter(hour=hour, organization__in={refused.organization_id for refused in kinds})
    counts = dict(rows.values_list("organization").annotate(Count("pk")).order_by())
    known = set(rows.filter(fingerprint__in=fingerprints.values()).values_list("organization", "fingerprint"))
    for refused, times in kinds.items():
        owner = refused.organization_id
        if (owner, fingerprints[refused]) not in known:
            counts[owner] = counts.get(owner, 0) + 1
            if counts[owner] > MOST_AN_HOUR:
                yield refused.in_fewer_words(), times
                continue
        yield refused, times


def _values(refused: Refused, times: Times, hour: dt.datetime) -> list[Any]:
    ids = [refused.organization_id, refused.form_id, refused.key_id]
    moments = [connection.ops.adapt_datetimefield_value(moment) for moment in (hour, times.first, times.last)]
    texts = [refused.code, refused.detail_code, refused.field, refused.origin, refused.message]
    return [*(pk and database_id(pk) for pk in ids), *texts, times.count, *moments, refused.fingerprint]
