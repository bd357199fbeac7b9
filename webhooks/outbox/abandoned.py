"""
Deliveries whose claim ended without a result: their deliverer died, or was stopped for longer than a lease
(docs/adr/0046).

One of them may have killed it. So each of them is sent by a separate process the next time (`alone.py`), and only
such a claim counts as an attempt: deliveries that were claimed with a poisonous one lose nothing, and the poisonous one
fails after its attempts. A child of that process that dies is known by its exit. If all of it died, it may have been
killed for another reason, so the first such loss counts for nothing, too.
"""

from django.db import transaction
from django.db.models import F

from config.times import now
from webhooks.channels.outcome import Outcome
from webhooks.models import Delivery, ErrorClass
from webhooks.outbox.claim import Claim
from webhooks.outbox.record import record
from webhooks.outbox.send import Result

ROWS_A_BATCH = 500
UNCOUNTED = 2  # losses in a row that are no attempt: one of a deliverer, one of a process for it
CRASHED = Outcome(succeeded=False, status=None, duration_ms=0, error=ErrorClass.INTERNAL_ERROR.value, crashed=True)


def free_abandoned() -> int:
    """End the leases of deliverers that are gone; return how many. Record an attempt for each that was isolated."""
    freed = _free_uncounted()
    needed = ("message", "submission", "webhook", "destination", "organization")
    again = list(Delivery.objects.abandoned().filter(lost_claims__gte=UNCOUNTED).select_related(*needed)[:ROWS_A_BATCH])
    if again:
        moment = now()
        record([Result(Claim(row, row.lease_token), CRASHED, moment) for row in again if row.lease_token is not None])
    return freed + len(again)


def _free_uncounted() -> int:
    with transaction.atomic():
        rows = Delivery.objects.abandoned().filter(lost_claims__lt=UNCOUNTED).order_by("pk")
        ids = list(rows.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True)[:ROWS_A_BATCH])
        if not ids:
            return 0
        still = Delivery.objects.abandoned().filter(pk__in=ids)
        return still.update(lease_token=None, lease_until=None, lost_claims=F("lost_claims") + 1)
