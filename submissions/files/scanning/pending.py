"""
Scan stored files for viruses, if CLAMD_URL is set (docs/adr/0095).

A job of the deliverers does it, with two leases in the shared cache: one process scans at a time, so that files that
take long hold one child of the workers at most, and no other process tries a file without a result again too early. A
lost lease costs a second scan with the same result, since a result is recorded only while the row has none.
"""

import datetime as dt
import logging
import time
import uuid
from collections.abc import Sequence

from django.conf import settings
from django.core.cache import cache
from django.db.models import QuerySet

from config.base.ids import first_id_of
from config.base.nudge import DELIVER, nudge
from config.base.times import now
from submissions.files import storage
from submissions.files.scanning.clamd import ClamdAway, NotScanned, scan
from submissions.models import StoredFile

AWAY_LOG_SECONDS = 300  # between lines about the same outage
REFUSED_SECONDS = 300.0  # until a file without a result is tried again
ROWS_A_RUN = 200
RUN_SECONDS = 30.0  # then no further scan begins, so that a worker can be stopped
LEASE_SECONDS = 180  # longer than a run whose last scan takes its two minutes
PENDING, CLEAN, INFECTED = StoredFile.Scan.PENDING, StoredFile.Scan.CLEAN, StoredFile.Scan.INFECTED

logger = logging.getLogger(__name__)
refused: dict[uuid.UUID, float] = {}  # in this process only: until when; it saves scans and log lines


def scan_pending() -> int:
    """
    Scan stored files without a result, and return how many got one.

    Files newer than SCAN_SECONDS, for which submissions wait, come first. Raises ClamdAway and FilesAway: then the rest
    is left to the next run.
    """
    scanned, until = 0, time.monotonic() + RUN_SECONDS
    for row in _some_pending():
        if time.monotonic() > until:
            break
        name = f"scan:{row.pk}"
        if not cache.add(name, 1, int(REFUSED_SECONDS)):
            continue  # another process has tried it
        try:
            scanned += _scan_one(row)
        except BaseException:
            cache.delete(name)
            raise
    return scanned


def _some_pending() -> Sequence[StoredFile]:
    """Return files to scan: those that hold a delivery first, whatever number of old ones cannot be scanned."""
    moment = time.monotonic()
    for pk in [pk for pk, until in refused.items() if until <= moment]:
        del refused[pk]
    pending = StoredFile.objects.filter(scan=PENDING, stored_at__isnull=False, removed_at=None)
    pending = pending.exclude(pk__in=refused).order_by("pk")
    start = first_id_of(now() - dt.timedelta(seconds=settings.SCAN_SECONDS))
    return _first(pending.filter(pk__gte=start)) or _first(pending.filter(pk__lt=start))


def _first(rows: QuerySet[StoredFile]) -> list[StoredFile]:
    return list(rows.only("pk")[:ROWS_A_RUN])


def _scan_one(row: StoredFile) -> int:
    try:
        with storage.open_file(row.pk) as content:
            virus = scan(content, settings.CLAMD_URL)
    except (NotScanned, FileNotFoundError) as error:
        # The file stays withheld: one that the scanner cannot read may be made so.
        logger.error("file %s is not scanned, trying again in %.0f s: %s", row.public_id, REFUSED_SECONDS, error)
        refused[row.pk] = time.monotonic() + REFUSED_SECONDS
        return 0
    if virus is not None:
        logger.warning("file %s is infected and withheld: %s", row.public_id, virus)
    result = CLEAN if virus is None else INFECTED
    changed = StoredFile.objects.filter(pk=row.pk, scan=PENDING).update(scan=result)
    nudge(DELIVER)  # a submission may wait for it; `row` may be older than that
    return changed


def scan_due() -> None:
    """Scan pending files, unless another process does. A scanner or a storage that fails is left to the next run."""
    if not (storage.is_reachable() and cache.add("scan", 1, LEASE_SECONDS)):
        return
    try:
        if scan_pending() and cache.delete("scan-away"):
            logger.info("files are scanned again")
    except (ClamdAway, storage.FilesAway) as error:
        if cache.add("scan-away", 1, AWAY_LOG_SECONDS):
            text = "files are not scanned; their submissions wait at most %.0f s: %s"
            logger.error(text, settings.SCAN_SECONDS, error)
    finally:
        cache.delete("scan")
