"""The log keeps every attempt for 30 days (CONTRACT section 7)."""

import datetime as dt
from typing import Any

from django.db.models import QuerySet

from config.times import now
from webhooks.models import Attempt, Delivery

LOG_KEPT = dt.timedelta(days=30)
ROWS_A_BATCH = 1000


def purge_log() -> int:
    """Delete attempts, and ended deliveries, of more than 30 days ago; return how many rows. In batches."""
    oldest_kept = now() - LOG_KEPT
    attempts = _purge(Attempt.objects.filter(started_at__lt=oldest_kept))
    held = Delivery.objects.filter(status=Delivery.Status.HELD, created_at__lt=oldest_kept)
    return attempts + _purge(held) + _purge(Delivery.objects.filter(finished_at__lt=oldest_kept))


def _purge(expired: QuerySet[Any]) -> int:
    purged = 0
    while batch := list(expired.values_list("pk", flat=True)[:ROWS_A_BATCH]):
        purged += expired.filter(pk__in=batch).delete()[0]
    return purged
