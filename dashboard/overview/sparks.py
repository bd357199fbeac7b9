"""Small charts of the last 30 days in the list of forms."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.utils import timezone

from dashboard.overview.charts import DEFAULT_RANGE, Bar, draw_spark
from forms_app.models import Form
from submissions.reading.days import count_days_of_forms


class ListedForm(NamedTuple):
    """A form, its submissions of the last 30 days, and their bars; none without any."""

    form: Form
    month: int
    bars: Sequence[Bar]


def with_sparks(forms: Iterable[Form]) -> list[ListedForm]:
    """Return the forms of a page with their charts, whose numbers take two queries in all."""
    listed = list(forms)
    drawn = [form.pk for form in listed]
    counts = count_days_of_forms(drawn, days=DEFAULT_RANGE, zone=timezone.get_current_timezone())
    months = [sum(day.received for day in counts[form.pk]) for form in listed]
    return [
        ListedForm(form, month, draw_spark(counts[form.pk]) if month else ())
        for form, month in zip(listed, months, strict=True)
    ]
