"""
Lost claims: their lease ended without a result, since their deliverer died, or was stopped for longer than a lease
(docs/adr/0109).

One of them may have killed it, but most were only in flight next to it, or the process was killed for another reason.
So the first two in a row of a delivery are free, and each further one is an attempt. A deliverer sends only one
delivery at a time whose next loss is an attempt (`shares.py`).
"""

from django.db import transaction
from django.db.models import F

from config.base.times import now
from webhooks.models import Delivery, ErrorClass
from webhooks.outbox.claim import Claim
from webhooks.outbox.record import record
from webhooks.outbox.send import Result
from webhooks.outbox.shares import PLACES
from webhooks.transport.outcome import Outcome

ROWS_A_BATCH = 500
FREE = len(PLACES) - 1  # lost claims in a row that are no attempt
LOST = Outcome(succeeded=False, status=None, duration_ms=0, error=ErrorClass.INTERNAL_ERROR.value, lost=True)


def free_abandoned() -> int:
    """End the leases of deliverers that are gone; return how many. Record an attempt for those that are not free."""
    freed = _free_uncounted()
    needed = ("message", "submission", "receiver", "organization")
    again = list(Delivery.objects.abandoned().filter(lost_claims__gte=FREE).select_related(*needed)[:ROWS_A_BATCH])
    if again:
        moment = now()
        record([Result(Claim(row, row.lease_token), LOST, moment) for row in again if row.lease_token is not None])
    return freed + len(again)


def _free_uncounted() -> int:
    with transaction.atomic():
        rows = Delivery.objects.abandoned().filter(lost_claims__lt=FREE).order_by("pk")
        ids = list(rows.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True)[:ROWS_A_BATCH])
        if not ids:
            return 0
        still = Delivery.objects.abandoned().filter(pk__in=ids)
        return still.update(lease_token=None, lease_until=None, lost_claims=F("lost_claims") + 1)
