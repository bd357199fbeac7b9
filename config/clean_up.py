"""
The hourly clean-up. Each app registers its jobs in `apps.py`; `webhooks/periodic_jobs.py` calls `clean_up()`.
"""

from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import QuerySet

ROWS_A_BATCH = 1000
jobs: list[Callable[[], object]] = []


def register_clean_up(*added: Callable[[], object]) -> None:
    """Add jobs; they run in the order of INSTALLED_APPS. Each must be safe to interrupt and to repeat."""
    jobs.extend(job for job in added if job not in jobs)


def clean_up() -> None:
    """Delete everything past its retention. Raises what failed together, after the other jobs have run."""
    errors = []
    for job in jobs:
        try:
            job()
        except Exception as error:
            error.add_note(f"in {job.__module__}.{job.__qualname__}")
            errors.append(error)
            connection.close_if_unusable_or_obsolete()  # the next job connects again
    if errors:
        raise ExceptionGroup("the clean-up is incomplete", errors)


def delete_in_batches(expired: QuerySet[Any], *, by: str, rows: int = ROWS_A_BATCH) -> int:
    """
    Delete the rows of a query, `rows` at a time with a commit each; return how many, with those that go along.

    `by`: the indexed column that made them expire. Each batch is read from the last one's value on: from the start it
    would pass all deleted rows again, until a vacuum.
    """
    deleted, rest = 0, expired.order_by(by)
    while batch := list(rest.values_list("pk", by)[:rows]):
        deleted += expired.filter(pk__in=[pk for pk, _ in batch]).delete()[0]
        rest = expired.filter(**{f"{by}__gte": batch[-1][1]}).order_by(by)
    return deleted
