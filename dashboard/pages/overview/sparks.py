"""Small charts of the last 30 days in the list of forms."""

from collections.abc import Iterable, Sequence

from django.utils import timezone

from dashboard.pages.overview.charts import DEFAULT_RANGE, Bar, draw_spark
from forms_app.models import Form
from submissions.reading.days import count_days_of_forms


def with_sparks(forms: Iterable[Form]) -> list[tuple[Form, int, Sequence[Bar]]]:
    """Return the forms of a page, each with its submissions of the last 30 days and their bars; two queries in all."""
    listed = list(forms)
    zone = timezone.get_current_timezone()
    counts = count_days_of_forms([form.pk for form in listed], days=DEFAULT_RANGE, zone=zone)
    months = [sum(day.received for day in counts[form.pk]) for form in listed]
    return [
        (form, month, draw_spark(counts[form.pk]) if month else ()) for form, month in zip(listed, months, strict=True)
    ]
