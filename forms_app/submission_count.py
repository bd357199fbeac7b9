"""
The number of submissions of a form, which a higher app provides.

A form's record has `submissionCount`, but submissions are an app above this one. Their AppConfig registers the
expression at start-up, so that nothing here imports them.
"""

from collections.abc import Callable

from django.db.models import Expression, IntegerField, Value
from django.db.models.expressions import Combinable

Provider = Callable[[], Expression | Combinable]
_providers: list[Provider] = []


def answer_submission_count(provider: Provider) -> None:
    """Register the expression, over a Form queryset, that counts submissions without spam."""
    _providers[:] = [provider]


def submission_count() -> Expression | Combinable:
    """Return the registered expression, or 0 if there is none."""
    return _providers[0]() if _providers else Value(0, output_field=IntegerField())
