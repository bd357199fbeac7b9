"""Small charts of the last 30 days in the list of forms."""

from collections.abc import Sequence
from typing import NamedTuple

from django.utils import timezone

from dashboard.overview.charts import DEFAULT_RANGE, Bar, draw_spark
from forms_app.models import Form
from submissions.reading.days import count_days_of_forms

MOST_FORMS = 100  # of a list; a form further down has no chart, so that a long list stays quick


class ListedForm(NamedTuple):
    """A form, its submissions of the last 30 days (None beyond MOST_FORMS), and their bars; none without any."""

    form: Form
    month: int | None = None
    bars: Sequence[Bar] = ()


def with_sparks(forms: Sequence[Form]) -> list[ListedForm]:
    """Return the forms with their charts, whose numbers take two queries in all."""
    drawn = [form.pk for form in forms[:MOST_FORMS]]
    counts = count_days_of_forms(drawn, days=DEFAULT_RANGE, zone=timezone.get_current_timezone())
    listed = []
    for form in forms[:MOST_FORMS]:
        days = counts[form.pk]
        month = sum(day.received for day in days)
        listed.append(ListedForm(form, month, draw_spark(days) if month else ()))
    return [*listed, *map(ListedForm, forms[MOST_FORMS:])]
