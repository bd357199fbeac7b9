"""
Stored bytes of organizations: values, metadata and files of their submissions (docs/contract.md 2.21, docs/adr/0039).

The total is a column of the organization, which every request reads with its key or form: the check costs no query. It
changes in the transactions that dispatch and that delete, always last: they lock tallies first, then organizations.
"""

import uuid
from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import BigIntegerField, F, Func, QuerySet, Sum, Value
from django.db.models.functions import Greatest
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

from config.base.times import now
from keys.models import Organization
from keys.notices import notify_owners
from keys.plans import show_bytes
from submissions.models import Submission

MARKS = (80, 100)  # percent of the allowance at which the owners are notified
SUBJECT = gettext_lazy("%(organization)s has used %(mark)s %% of its storage")
USED = gettext_lazy("%(organization)s stores %(stored)s of the %(allowance)s that its plan, %(plan)s, includes.")
ADVICE = gettext_lazy(
    "Submissions are taken up to %(most)s; beyond that they are refused. Delete submissions that you no longer "
    "need, set a retention for your forms, or ask for a higher limit."
)

_shown = lazy(show_bytes, str)


class Octets(Func):
    """The length of a text in UTF-8 bytes."""

    function = "OCTET_LENGTH"
    output_field = BigIntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """SQLite has OCTET_LENGTH from 3.43 on only."""
        return self.as_sql(compiler, connection, template="LENGTH(CAST(%(expressions)s AS BLOB))", **extra)


SIZE = Octets("data") + Octets("meta") + F("files_size")


def with_size(rows: QuerySet[Submission]) -> QuerySet[Submission]:
    """Return the rows with their stored bytes, for `size_of`."""
    return rows.annotate(stored_size=SIZE)


def size_of(row: Submission) -> int:
    """Return the stored bytes of a row that came `with_size`."""
    return int(vars(row)["stored_size"])


def stored_bytes_of(rows: QuerySet[Submission]) -> Counter[uuid.UUID]:
    """Return the bytes of these submissions by organization."""
    sizes = rows.order_by().values_list("organization_id").annotate(size=Sum(SIZE))
    return Counter(dict(sizes))


def add_stored_bytes(changes: Mapping[uuid.UUID, int]) -> dict[uuid.UUID, int]:
    """
    Add to the totals of organizations, in key order, and notify the owners at 80 % and 100 %.

    Returns the new totals of those that changed. Runs inside the caller's transaction. A total that is not known yet is
    left to `count_unknown`.
    """
    known = Organization.objects.filter(stored_bytes__isnull=False)
    changed = sorted(pk for pk, change in changes.items() if change)
    for pk in changed:
        known.filter(pk=pk).update(stored_bytes=Greatest(F("stored_bytes") + changes[pk], Value(0)))
    organizations = list(known.filter(pk__in=changed)) if changed else []
    for organization in organizations:
        if changes[organization.pk] > 0:
            _notify(organization, before=(organization.stored_bytes or 0) - changes[organization.pk])
    return {organization.pk: organization.stored_bytes or 0 for organization in organizations}


def recount(organization: Organization) -> int:
    """Count an organization's stored bytes again and return them. Its dispatch waits meanwhile."""
    with transaction.atomic():
        # First the lock: transactions that wait for it add their change to the new total, others are counted here.
        locked = Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
        own = Submission.objects.filter(organization=locked).of_mode(test=False)
        counted = own.exclude(counted_as=Submission.CountedAs.NOTHING)
        before, locked.stored_bytes = locked.stored_bytes or 0, stored_bytes_of(counted)[locked.pk]
        locked.save(update_fields=["stored_bytes"])
        _notify(locked, before=before)
    return locked.stored_bytes


def count_unknown() -> int:
    """Count the stored bytes of organizations of which they are not known yet; return how many."""
    unknown = list(Organization.objects.filter(stored_bytes=None))
    for organization in unknown:
        recount(organization)
    return len(unknown)


def _notify(organization: Organization, *, before: int) -> None:
    """Queue a mail to the owners for each mark that the total has just passed, at most one a day for each."""
    allowance, after = organization.storage_allowance, organization.stored_bytes or 0
    for mark in MARKS:
        if before < allowance * mark / 100 <= after:
            values = {
                "organization": organization.name,
                "mark": mark,
                "stored": _shown(after),
                "allowance": _shown(allowance),
                "plan": organization.get_plan_display(),
                "most": _shown(allowance * 3 // 2),
            }
            once = f"storage.{mark} {organization.pk} {now():%Y-%m-%d}"
            text = format_lazy("{}\n\n{}", USED, ADVICE)
            notify_owners(organization, f"storage.{mark}", subject=SUBJECT, text=text, values=values, once=once)
