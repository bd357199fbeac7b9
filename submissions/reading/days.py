"""
Submissions by day, for charts: the tallies, plus the rows that no tally counts yet.

A tally is of a UTC hour. In a zone whose midnight splits that hour, such as Asia/Kolkata, all of it counts for the day
in which it starts.
"""

import dataclasses
import datetime as dt
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Trunc

from config.base.database import snapshot
from config.base.times import END, now
from submissions.models import Submission, Tally

COUNTED = ("received", "spam", "delivered", "failed")


@dataclasses.dataclass(frozen=True, slots=True)
class DayCount:
    """Submissions of one day, spam and deleted ones included; `spam`: those now marked as spam."""

    day: dt.date
    received: int = 0
    spam: int = 0

    @property
    def kept(self) -> int:
        return max(0, self.received - self.spam)


def count_days(
    organization_id: uuid.UUID, form_ids: Collection[uuid.UUID] | None, *, days: int, zone: dt.tzinfo = dt.UTC
) -> list[DayCount]:
    """Return the last days of an organization or of these forms, oldest first, today included; each day has one."""
    scope = Q(form__organization_id=organization_id) if form_ids is None else Q(form_id__in=form_ids)
    return _count(scope, days, zone, by=())[None]


def count_days_of_forms(
    form_ids: Collection[uuid.UUID], *, days: int, zone: dt.tzinfo = dt.UTC
) -> dict[uuid.UUID | None, list[DayCount]]:
    """Return the same for each of these forms, with two queries in all."""
    return _count(Q(form_id__in=form_ids), days, zone, by=["form_id"])


def counted(
    scope: Q, start: dt.datetime, end: dt.datetime, *, by: Sequence[str], every: str, alias: str
) -> Iterator[tuple[list[Any], dt.datetime, Counter[str]]]:
    """
    Yield the values of `by`, the start of an hour or day (`every`, UTC), and the counts of COUNTED in it, from `start`
    to before `end`. The tallies come first, then the rows that no tally counts yet.
    """
    tallies = Tally.objects.using(alias).filter(scope, hour__gte=start, hour__lt=end)
    waiting = Submission.objects.using(alias).uncounted().filter(scope).since(start).before(end)
    hour = F("hour") if every == "hour" else Trunc("hour", every, tzinfo=dt.UTC)
    moment = Trunc("created_at", every, tzinfo=dt.UTC)
    found = [
        *_grouped(tallies, by, hour).annotate(*map(Sum, COUNTED)),
        *_grouped(waiting, by, moment).annotate(n=Count("pk"), n_spam=Count("pk", filter=Q(spam=True))),
    ]
    for row in found:
        group, (begins, *numbers) = list(row[: len(by)]), row[len(by) :]
        yield group, begins, Counter(dict(zip(COUNTED, numbers, strict=False)))


def _grouped(rows: QuerySet[Any], by: Sequence[str], start: Combinable) -> QuerySet[Any, Any]:
    grouped: QuerySet[Any, Any] = rows.order_by().annotate(start=start).values_list(*by, "start")
    return grouped


def _count(scope: Q, days: int, zone: dt.tzinfo, *, by: Sequence[str]) -> defaultdict[uuid.UUID | None, list[DayCount]]:
    """Return the days of each form; a form without any submission has zeros, too."""
    today = now().astimezone(zone).date()
    spans = [today - dt.timedelta(days=number) for number in reversed(range(days))]
    start = dt.datetime.combine(spans[0], dt.time.min, zone)
    found: dict[uuid.UUID | None, Counter[tuple[dt.date, str]]] = defaultdict(Counter)
    with snapshot() as alias:
        for form, hour, counts in counted(scope, start, END, by=by, every="hour", alias=alias):
            day = hour.astimezone(zone).date()
            found[form[0] if form else None].update({(day, name): number for name, number in counts.items()})
    made = {
        form: [DayCount(day, counts[day, "received"], counts[day, "spam"]) for day in spans]
        for form, counts in found.items()
    }
    empty = [DayCount(day) for day in spans]
    return defaultdict(lambda: empty, made)
