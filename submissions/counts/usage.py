"""
Usage of organizations by day, for operators: submissions, mails, refusals, stored bytes (docs/contract.md 8.20).

One row for an organization and UTC day, changed in the transactions of dispatch, deleting, recording and the writer of
refusals, always last and in key order. A day without any of them has no row.
"""

import datetime as dt
import uuid
from collections.abc import Mapping

from django.db import connection

from config.base.database import database_id
from config.base.times import now
from keys.models import Organization
from submissions.models import UsageDay

SHOWN = 30  # days
KEPT = dt.timedelta(days=90)  # longer, so that the first of the 30 days can show the bytes of the last change before it
Key = tuple[uuid.UUID, dt.date]  # organization, UTC day
_TABLE = UsageDay._meta.db_table
_UPSERT = (
    f"INSERT INTO {_TABLE} (organization_id, day, submissions, mails, refusals, stored_bytes) "  # noqa: S608 - names from code
    "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (organization_id, day) DO UPDATE SET "
    f"submissions = {_TABLE}.submissions + excluded.submissions, mails = {_TABLE}.mails + excluded.mails, "
    f"refusals = {_TABLE}.refusals + excluded.refusals, "
    f"stored_bytes = COALESCE(excluded.stored_bytes, {_TABLE}.stored_bytes)"
)


def note_usage(
    *,
    submissions: Mapping[Key, int] | None = None,
    mails: Mapping[Key, int] | None = None,
    refusals: Mapping[Key, int] | None = None,
    stored_bytes: Mapping[Key, int] | None = None,
) -> None:
    """Add to the counts of days, and set their stored bytes. Runs inside the caller's transaction."""
    columns = [submissions or {}, mails or {}, refusals or {}]
    stored = stored_bytes or {}
    keys = sorted({key for column in (*columns, stored) for key in column})
    rows = [
        [
            database_id(organization),
            connection.ops.adapt_datefield_value(day),
            *(column.get((organization, day), 0) for column in columns),
            stored.get((organization, day)),
        ]
        for organization, day in keys
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.executemany(_UPSERT, rows)


def today() -> dt.date:
    """Return the UTC day."""
    return now().date()


def usage_of(organization: Organization, *, days: int = SHOWN) -> list[UsageDay]:
    """
    Return the usage of the last days, oldest first, today included; each day has one, with the stored bytes at its end.

    These are None if they are not known. Days without usage have no row in the database.
    """
    last = today()
    first = last - dt.timedelta(days=days - 1)
    rows = list(UsageDay.objects.filter(organization=organization, day__lte=last).order_by("day"))
    known = {row.day: row for row in rows}
    earlier = [row.stored_bytes for row in rows if row.day < first and row.stored_bytes is not None]
    has_changed = any(row.stored_bytes is not None for row in rows)
    stored = earlier[-1] if earlier else (None if has_changed else organization.stored_bytes)
    found = []
    for day in (first + dt.timedelta(days=number) for number in range(days)):
        row = known.get(day) or UsageDay(organization=organization, day=day)
        stored = row.stored_bytes = stored if row.stored_bytes is None else row.stored_bytes
        found.append(row)
    return found


def purge_usage() -> int:
    """Delete days of more than 90 days ago; return how many."""
    return UsageDay.objects.filter(day__lt=today() - KEPT).delete()[0]
