"""
Drop partitions: a month at a time, which gives its space on disk back without a vacuum.

Their rows are deleted before, as retention does it: with deliveries, files, tallies and stored bytes.
"""

import datetime as dt
import logging
from collections.abc import Callable, Sequence
from typing import Any

from django.db import OperationalError, ProgrammingError, connection
from django.db.models import Exists, OuterRef

from config.database import sqlstate
from config.times import now
from forms_app.models import Form
from submissions.lifecycle.retention import purge_form
from submissions.models import Submission
from submissions.partitions.brief import PAUSES, TableInUse, briefly
from submissions.partitions.catalog import TABLE, Partition, is_empty, is_partitioned, partitions
from submissions.partitions.conversion import remove_left_over
from submissions.partitions.making import exclusively, make_months, name_of
from submissions.partitions.months import first_id, later_month

QUIET = dt.timedelta(days=2)  # after the end of a month: hosts' clocks may differ, and requests have ids early
TIMEOUT, UNDEFINED_TABLE = "57014", "42P01"  # SQLSTATEs
HOURLY_PAUSES = (1.0, 2.0)  # seconds: the next clean-up tries again

logger = logging.getLogger(__name__)


class CannotDrop(Exception):
    """The month cannot be dropped; the message says why."""


def find_month(month: dt.date) -> Partition:
    """Return the partition of a past month. Raises CannotDrop."""
    found = next((one for one in partitions() if one.name == name_of(month)), None) if is_partitioned() else None
    if found is None:
        raise CannotDrop(f"{month:%Y-%m} has no partition.")
    if not _is_past(found):
        raise CannotDrop(f"{month:%Y-%m} is not over, or only just.")
    return found


def drop_month(month: dt.date, report: Callable[[str], None]) -> int:
    """
    Delete a past month's submissions, in batches, then drop its partition; return how many there were.

    If it is interrupted, a second call or the clean-up continues. Raises CannotDrop, also if there are submissions of a
    suspended organization, which are kept until it is resumed; and TableInUse.
    """
    partition, deleted = find_month(month), 0
    first, end = first_id(month), first_id(later_month(month))
    own = Submission.objects.filter(form=OuterRef("pk"), id__gte=first, id__lt=end)
    forms = Form.objects.filter(Exists(own)).order_by("pk")
    suspended = forms.exclude(organization__suspended_at=None).values_list("organization__slug", flat=True)
    if names := sorted(set(suspended)):
        raise CannotDrop(f"{month:%Y-%m} has submissions of suspended organizations: {', '.join(names)}.")
    for form in forms.only("name", "organization_id"):
        deleted += purge_form(form, before=end, since=first)
        report(f"{deleted:,} submissions are deleted")
    if not _drop(partition, pauses=PAUSES):
        raise CannotDrop(f"{month:%Y-%m} got new rows meanwhile.")
    return deleted


def drop_empty(*, pauses: Sequence[float] = PAUSES) -> list[str]:
    """Drop the past partitions without rows; return their names. Raises TableInUse."""
    past = [one for one in partitions() if _is_past(one)]
    return [one.name for one in past if _drop(one, pauses=pauses)]


def tend_partitions() -> None:
    """Make coming months, and drop empty past ones: hourly, if submissions are in partitions."""
    if connection.vendor != "postgresql":
        return
    try:
        if is_partitioned():
            if make_months(pauses=HOURLY_PAUSES):
                with connection.cursor() as cursor:
                    cursor.execute(f"ANALYZE {TABLE}")  # autovacuum does it for partitions, and never for the whole
            for name in drop_empty(pauses=HOURLY_PAUSES):
                logger.info("partitions: %s was empty and is dropped", name)
        elif remove_left_over():
            logger.warning("partitions: an unfinished partition_submissions is undone; run it again")
    except TableInUse as error:
        logger.warning("partitions: %s The next clean-up tries again.", error)
    except (OperationalError, ProgrammingError) as error:
        if sqlstate(error) not in (TIMEOUT, UNDEFINED_TABLE):
            raise
        # The vacuum of a large partition continues at the next clean-up; or another host has dropped it meanwhile.
        logger.warning("partitions: %s", error)


def _is_past(partition: Partition) -> bool:
    return partition.ended_at is not None and partition.ended_at < now() - QUIET


def _drop(partition: Partition, *, pauses: Sequence[float]) -> bool:
    """Drop a partition if it has no rows; return whether it had none."""
    if not is_empty(partition.name):
        return False
    # PostgreSQL compares it with all tables that refer to it while it is detached. A vacuum removes the pages first.
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM (ANALYZE) {partition.name}")
    is_dropped = False

    def drop(cursor: Any) -> None:
        nonlocal is_dropped
        is_there = any(one.name == partition.name for one in partitions())
        if is_there and is_empty(partition.name):
            cursor.execute(f"ALTER TABLE {TABLE} DETACH PARTITION {partition.name}")
            cursor.execute(f"DROP TABLE {partition.name}")
        is_dropped = not is_there or not any(one.name == partition.name for one in partitions())

    briefly(drop, *exclusively(), pauses=pauses)
    return is_dropped
