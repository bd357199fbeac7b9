"""
How many submissions a form has: asked here, answered by a higher room.

The form's record carries `submissionCount`, and what was received is the submissions' room, which builds on this one.
So this room states the question and the submissions' AppConfig answers it at start-up; nothing here imports it.
"""

from collections.abc import Callable

from django.db.models import Expression, IntegerField, Value
from django.db.models.expressions import Combinable

Provider = Callable[[], Expression | Combinable]
_providers: list[Provider] = []


def answer_submission_count(provider: Provider) -> None:
    """Register the expression, over a Form queryset, that counts what is stored and not spam."""
    _providers[:] = [provider]


def submission_count() -> Expression | Combinable:
    """Return the registered expression; 0 in a project without the submissions' app."""
    return _providers[0]() if _providers else Value(0, output_field=IntegerField())
