"""Submissions of an organization or a form by day: the figures and the chart."""

import dataclasses
from functools import cached_property

from django.utils import timezone

from dashboard.pages.overview.charts import DEFAULT_RANGE, RANGES, Chart, chosen_range, draw_chart
from forms_app.models import Form
from keys.seen_forms import SeenForms
from submissions.reading.days import DayCount, count_days


@dataclasses.dataclass(frozen=True)
class Activity:
    """
    `counts`: at least twice `days`, oldest first, today the last one. `form`: None for all forms. `zone`: the name of
    the time zone of the days.
    """

    days: int
    form: Form | None
    counts: list[DayCount]
    zone: str

    @cached_property
    def chosen(self) -> list[DayCount]:
        return self.counts[-self.days :]

    @cached_property
    def chart(self) -> Chart:
        return draw_chart(self.chosen)

    @property
    def last(self) -> dict[int, int]:
        """Submissions of the last so many days, spam included."""
        return {days: self._received_in(days) for days in (1, 7, 30, self.days)}

    @property
    def before(self) -> dict[int, int]:
        """Submissions of as many days before those."""
        return {days: self._received_in(days, ago=days) for days in (7, 30, self.days)}

    @property
    def received(self) -> int:
        return self.last[self.days]

    @property
    def earlier(self) -> int:
        return self.before[self.days]

    @property
    def has_any(self) -> bool:
        return any(count.received for count in self.counts)

    @property
    def spam_of_month(self) -> int:
        return sum(count.spam for count in self.counts[-30:])

    @property
    def spam_share(self) -> int:
        """Spam of the last 30 days as a percentage of all."""
        return share(self.spam_of_month, self.last[30])

    def _received_in(self, days: int, *, ago: int = 0) -> int:
        return sum(count.received for count in self.counts[len(self.counts) - days - ago : len(self.counts) - ago])

    @property
    def ranges(self) -> list[tuple[int, bool]]:
        """`(days, is_chosen)` of each range."""
        return [(days, days == self.days) for days in RANGES]

    @property
    def query(self) -> str:
        """The chosen form, to append to a query string; "" for all."""
        return f"&form={self.form.public_id}" if self.form else ""


def activity_of(seen: SeenForms, form: Form | None, *, days: str) -> Activity:
    """Return the activity in the range that `?days=` names, in days of the user's time zone."""
    number = chosen_range(days)
    known = 2 * max(number, DEFAULT_RANGE)
    zone = timezone.get_current_timezone()
    counts = count_days(seen.organization_id, [form.pk] if form else seen.ids, days=known, zone=zone)
    return Activity(number, form, counts, timezone.get_current_timezone_name())


def share(part: int, whole: int) -> int:
    """Return a rounded percentage; a part above 0 is at least 1."""
    return max(1, round(100 * part / whole)) if part and whole else 0
