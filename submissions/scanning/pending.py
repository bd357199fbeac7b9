"""
Scan stored files for viruses, if CLAMD_URL is set (docs/adr/0095).

A thread of each web process does it, because there the files are: another host may not have the directory. A row is
leased in the shared cache; without Redis there is only one web process. A lost lease costs a second scan with the same
result, since a result is recorded only while the row has none.
"""

import datetime as dt
import logging
import os
import threading
import time
import uuid
from collections.abc import Sequence

from django.conf import settings
from django.core.cache import cache
from django.db.models import QuerySet

from config.database import drop_broken_connections, give_back_connection, is_away
from config.ids import first_id_of
from config.nudge import DELIVER, nudge
from config.outage import OUTAGE as DATABASE_OUTAGE
from config.times import now
from submissions.files import storage
from submissions.models import StoredFile
from submissions.scanning.clamd import ClamdAway, NotScanned, scan

POLL_SECONDS = 1.0
AWAY_SECONDS = 5.0  # until a scanner or storage that failed is tried again
AWAY_LOG_SECONDS = 300.0  # between lines about the same outage
REFUSED_SECONDS = 300.0  # until a file without a result is tried again
ROWS_A_ROUND = 50
LEASE_SECONDS = 180  # longer than a scan; it ends by itself, because another process may have read the same rows
PENDING, CLEAN, INFECTED = StoredFile.Scan.PENDING, StoredFile.Scan.CLEAN, StoredFile.Scan.INFECTED

logger = logging.getLogger(__name__)
refused: dict[uuid.UUID, float] = {}  # in this process only: until when; it saves scans and log lines


def scan_pending() -> int:
    """
    Scan stored files without a result, and return how many got one.

    Files newer than SCAN_SECONDS, for which submissions wait, come first. Raises ClamdAway and FilesAway: then the rest
    is left to the next round.
    """
    scanned = 0
    for row in _some_pending():
        name = f"scan:{row.pk}"
        if not cache.add(name, 1, LEASE_SECONDS):
            continue  # another process has it
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
    return list(rows.only("pk")[:ROWS_A_ROUND])


def _scan_one(row: StoredFile) -> int:
    give_back_connection()  # a scan can take two minutes
    try:
        with storage.open_file(row.pk) as content:
            virus = scan(content, settings.CLAMD_URL)
    except (NotScanned, FileNotFoundError) as error:
        # It stays withheld: a file that the scanner cannot read may be made so.
        logger.error("file %s is not scanned, trying again in %.0f s: %s", row.public_id, REFUSED_SECONDS, error)
        refused[row.pk] = time.monotonic() + REFUSED_SECONDS
        return 0
    if virus is not None:
        logger.warning("file %s is infected and withheld: %s", row.public_id, virus)
    result = CLEAN if virus is None else INFECTED
    changed = StoredFile.objects.filter(pk=row.pk, scan=PENDING).update(scan=result)
    nudge(DELIVER)  # a submission may wait for it; `row` may be older than that
    return changed


def start_scanning() -> None:
    """Start the thread, now and in every process that is forked from this one; without CLAMD_URL do nothing."""
    if settings.CLAMD_URL:
        _start_thread()
        os.register_at_fork(after_in_child=_start_thread)


def _start_thread() -> None:
    threading.Thread(target=_scan_forever, daemon=True, name="scan").start()


def _scan_forever() -> None:
    outage = Outage()
    while True:
        time.sleep(scan_round(outage))


class Outage:
    """Log lines about a scanner or a storage that fails: one each five minutes, and one at the end."""

    def __init__(self) -> None:
        self._next_line = 0.0
        self._is_on = False

    def note(self, error: BaseException) -> None:
        self._is_on = True
        if time.monotonic() >= self._next_line:
            text = "files are not scanned; their submissions wait at most %.0f s: %s"
            logger.error(text, settings.SCAN_SECONDS, error)
            self._next_line = time.monotonic() + AWAY_LOG_SECONDS

    def end(self) -> None:
        if self._is_on:
            logger.info("files are scanned again")
        self._is_on, self._next_line = False, 0.0


def scan_round(outage: Outage) -> float:
    """Scan what is pending, and return the seconds until the next round. Any failure is left to that."""
    try:
        scanned = scan_pending()
        if scanned:
            outage.end()
        return 0.0 if scanned else POLL_SECONDS
    except (ClamdAway, storage.FilesAway) as error:
        outage.note(error)
        return AWAY_SECONDS
    except Exception as error:  # the thread must survive any error
        if is_away(error):
            DATABASE_OUTAGE.note(error)
            drop_broken_connections(error)
        else:
            logger.exception("files could not be scanned")
        return AWAY_SECONDS
    finally:
        give_back_connection()
