"""
Totals without counting rows: one row for a form and hour, changed in the transactions that store and delete.

A list's total is the tallies plus the rows not counted yet, in one statement (docs/architecture.md).
"""

import datetime as dt
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from django.db import connection
from django.db.models import Count, F, IntegerField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from config.base.database import database_id
from forms_app.models import Form
from keys.models import Organization
from submissions.models import Import, Submission, Tally

Key = tuple[uuid.UUID, dt.datetime | None]  # form and UTC hour; an import, which has no hour
Moves = dict[Key, "Counter[str]"]  # columns to add to; negative to subtract
_TABLE = Tally._meta.db_table
_COUNTS = ("received", "kept", "spam", "delivered", "failed")
_UPSERT = (
    f"INSERT INTO {_TABLE} (form_id, hour, {', '.join(_COUNTS)}) VALUES {{}} "  # noqa: S608 - names from code
    "ON CONFLICT (form_id, hour) DO UPDATE SET "
    + ", ".join(f"{name} = {_TABLE}.{name} + excluded.{name}" for name in _COUNTS)
)


def key_of(form_id: uuid.UUID, created_at: dt.datetime) -> Key:
    """Return the key of a submission's tally."""
    return form_id, created_at.replace(minute=0, second=0, microsecond=0)


def key_of_row(row: Submission) -> Key:
    """Return the key of the tally of a submission that may be imported: then its import counts it."""
    return (row.imported_in_id, None) if row.imported_in_id else key_of(row.form_id, row.created_at)


def new_moves() -> Moves:
    """Return an empty set of moves."""
    return defaultdict(Counter)


def apply_moves(moves: Mapping[Key, "Counter[str]"]) -> None:
    """
    Add to the tallies, in key order, so that two transactions cannot deadlock; then to the counts of imports.

    One statement, and one for each import, in the caller's transaction.
    """
    changed = {key: counts for key, counts in moves.items() if any(counts.values())}
    _add_to_tallies({(form, hour): counts for (form, hour), counts in changed.items() if hour})
    for pk, counts in sorted((pk, counts) for (pk, hour), counts in changed.items() if hour is None):
        Import.objects.filter(pk=pk).update(kept=F("kept") + counts["kept"], spam=F("spam") + counts["spam"])


def _add_to_tallies(moves: Mapping[tuple[uuid.UUID, dt.datetime], "Counter[str]"]) -> None:
    if not moves:
        return
    rows = [
        [
            database_id(form),
            connection.ops.adapt_datetimefield_value(hour),
            *(moves[form, hour][name] for name in _COUNTS),
        ]
        for form, hour in sorted(moves)
    ]
    places = f"({', '.join(['%s'] * len(rows[0]))})"
    with connection.cursor() as cursor:
        cursor.execute(_UPSERT.format(", ".join([places] * len(rows))), [value for row in rows for value in row])


def stored_count_of_form() -> Combinable:
    """Return, over a Form queryset, the number of stored submissions that are not spam."""
    return _stored("form", spam=False)


def total_of_forms(form_ids: Collection[uuid.UUID], *, spam: bool | None, using: str) -> int:
    """Return the number of these forms' submissions: spam, not spam, or both (None)."""
    forms = Form.objects.using(using).filter(pk__in=form_ids).annotate(n=_stored("form", spam=spam))
    return sum(forms.values_list("n", flat=True))


def total_of_organization(organization_id: uuid.UUID, *, spam: bool | None, using: str) -> int:
    """Return the number of an organization's submissions: spam, not spam, or both (None)."""
    found = Organization.objects.using(using).filter(pk=organization_id)
    return found.annotate(n=_stored("organization", spam=spam)).values_list("n", flat=True).first() or 0


def _stored(scope: str, *, spam: bool | None) -> Combinable:
    """Return tallies plus imported rows and those not counted yet, of the outer query's form or organization."""
    column: Any = {False: F("kept"), True: F("spam"), None: F("kept") + F("spam")}[spam]
    path = "form" if scope == "form" else "form__organization"
    counted = Tally.objects.filter(**{path: OuterRef("pk")}).order_by().values(path).annotate(n=Sum(column)).values("n")
    shown = Import.objects.filter(**{path: OuterRef("pk")}, undone_at=None)
    imported = shown.order_by().values(path).annotate(n=Sum(column)).values("n")
    waiting = Submission.objects.uncounted().filter(**{path: OuterRef("pk")})
    if spam is not None:
        waiting = waiting.filter(spam=spam)
    grouped = waiting.order_by().values(path).annotate(n=Count("*")).values("n")
    return _scalar(counted) + _scalar(imported) + _scalar(grouped)


def _scalar(query: QuerySet[Any, Any]) -> Coalesce:
    return Coalesce(Subquery(query, output_field=IntegerField()), 0)
