"""
The bounds of the log: attempts of a delivery, and bytes that attempts record of a receiver (docs/contract.md 7.12).

They hold when something is written. Attempts of before 0.3.0 do not say their receiver: they go after 30 days.
"""

import logging
import uuid
from collections.abc import Collection

from django.db import Error, transaction
from django.db.models import F, Sum, Window
from django.db.models.functions import RowNumber

from webhooks.models.deliveries import ATTEMPTS_KEPT, Attempt

RECORDED_BYTES = 10_000_000  # of requests and answers of one webhook or destination
CHECKED_EACH = 500_000  # bytes that a process writes for a receiver before it adds up again
ROWS_A_BATCH = 500
RECEIVERS_KNOWN = 10_000
_written: dict[uuid.UUID, int] = {}  # bytes of each receiver since its last check by this process

logger = logging.getLogger(__name__)


def drop_old_attempts(deliveries: Collection[uuid.UUID]) -> None:
    """
    Delete all but the newest ATTEMPTS_KEPT attempts of locked deliveries.

    A delivery of an earlier release may have thousands: ROWS_A_BATCH go with each new one.
    """
    number = Window(RowNumber(), partition_by=F("delivery"), order_by=F("id").desc())
    numbered = Attempt.objects.filter(delivery__in=deliveries).annotate(number=number)
    surplus = numbered.filter(number__gt=ATTEMPTS_KEPT).order_by("id").values_list("pk", flat=True)
    if old := list(surplus[:ROWS_A_BATCH]):
        Attempt.objects.filter(pk__in=old).delete()


def drop_old_recordings(attempts: Collection[Attempt]) -> None:
    """
    Empty the oldest requests and answers of the receivers of new attempts, beyond RECORDED_BYTES.

    Call it after the commit. A failure is logged: the next attempts try again.
    """
    if len(_written) > RECEIVERS_KNOWN:
        _written.clear()
    for attempt in attempts:
        if attempt.receiver is not None:
            _written[attempt.receiver] = _written.get(attempt.receiver, CHECKED_EACH) + (attempt.recorded or 0)
    due = {each for attempt in attempts if (each := attempt.receiver) and _written[each] >= CHECKED_EACH}
    if not due:
        return
    try:
        while _drop_some(due) == ROWS_A_BATCH:
            pass
    except Error:
        logger.exception("old recordings are kept for now")
        return
    _written.update(dict.fromkeys(due, 0))


def _drop_some(receivers: Collection[uuid.UUID]) -> int:
    """Empty a batch of recordings; return how many. The bytes written until the next check have room then."""
    newer = Window(Sum("recorded"), partition_by=F("receiver"), order_by=F("id").desc())  # and its own
    summed = Attempt.objects.filter(receiver__in=receivers).annotate(newer=newer)
    surplus = summed.filter(newer__gt=RECORDED_BYTES - CHECKED_EACH).order_by("id").values_list("pk", flat=True)
    if not (old := list(surplus[:ROWS_A_BATCH])):
        return 0
    with transaction.atomic():
        mine = Attempt.objects.filter(pk__in=old).order_by("pk").select_for_update(skip_locked=True)
        ids = list(mine.values_list("pk", flat=True))  # another deliverer may be emptying the others
        return Attempt.objects.filter(pk__in=ids).update(request="", response="", receiver=None, recorded=0)
