"""
Submissions by day, for charts: the tallies, plus the rows that no tally counts yet.

A tally is of a UTC hour. In a zone whose midnight splits that hour, such as Asia/Kolkata, all of it counts for the day
in which it starts.
"""

import dataclasses
import datetime as dt
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

from django.db.models import Count, Q, Sum
from django.db.models.functions import Trunc

from config.database import snapshot
from config.times import now
from submissions.models import Submission, Tally

_Hour = tuple[uuid.UUID | None, dt.datetime, int, int]  # form, start, received, spam


@dataclasses.dataclass(frozen=True, slots=True)
class DayCount:
    """Submissions of one day, spam and deleted ones included; `spam`: those now marked as spam."""

    day: dt.date
    received: int = 0
    spam: int = 0

    @property
    def kept(self) -> int:
        """Those that are not spam."""
        return max(0, self.received - self.spam)


def count_days(
    organization_id: uuid.UUID, form_id: uuid.UUID | None, *, days: int, zone: dt.tzinfo = dt.UTC
) -> list[DayCount]:
    """Return the last days of an organization or of one form, oldest first, today included; each day has one."""
    scope = Q(form_id=form_id) if form_id else Q(form__organization_id=organization_id)
    spans = _days_until_today(days, zone)
    return _fold(_hours(scope, _start_of(spans[0], zone)), spans, zone)[None]


def count_days_of_forms(
    form_ids: Collection[uuid.UUID], *, days: int, zone: dt.tzinfo = dt.UTC
) -> dict[uuid.UUID | None, list[DayCount]]:
    """Return the same for each of these forms, with two queries in all."""
    spans = _days_until_today(days, zone)
    hours = _hours(Q(form_id__in=form_ids), _start_of(spans[0], zone), by_form=True) if form_ids else iter(())
    return _fold(hours, spans, zone)


def _days_until_today(days: int, zone: dt.tzinfo) -> list[dt.date]:
    today = now().astimezone(zone).date()
    return [today - dt.timedelta(days=number) for number in reversed(range(days))]


def _start_of(day: dt.date, zone: dt.tzinfo) -> dt.datetime:
    return dt.datetime.combine(day, dt.time.min, zone)


def _hours(scope: Q, start: dt.datetime, *, by_form: bool = False) -> Iterator[_Hour]:
    by = ("form_id",) if by_form else ()
    with snapshot() as alias:
        tallies = Tally.objects.using(alias).filter(scope, hour__gte=start).order_by()
        counted = list(tallies.values_list(*by, "hour").annotate(Sum("received"), Sum("spam")))
        waiting = Submission.objects.using(alias).uncounted().filter(scope).since(start).order_by()
        hourly = waiting.annotate(hour=Trunc("created_at", "hour", tzinfo=dt.UTC)).values_list(*by, "hour")
        counted += list(hourly.annotate(n=Count("pk"), n_spam=Count("pk", filter=Q(spam=True))))
    for *form, hour, received, spam in counted:
        yield form[0] if form else None, hour, received, spam


def _fold(hours: Iterator[_Hour], days: list[dt.date], zone: dt.tzinfo) -> dict[uuid.UUID | None, list[DayCount]]:
    """Return the days of each form; a form without any submission has zeros, too."""
    found: dict[uuid.UUID | None, Counter[tuple[dt.date, str]]] = defaultdict(Counter)
    for form, hour, received, spam in hours:
        day = hour.astimezone(zone).date()
        found[form].update({(day, "received"): received, (day, "spam"): spam})
    made = {
        form: [DayCount(day, counts[day, "received"], counts[day, "spam"]) for day in days]
        for form, counts in found.items()
    }
    empty = [DayCount(day) for day in days]
    return defaultdict(lambda: empty, made)
