"""
Log lines about an unavailable database: one when the outage begins, one when it ends, none for each request.

Every process writes its own two. An outage ends once nothing failed for QUIET_SECONDS and a test of the database
succeeds: with a full disk, for instance, reads succeed between the submissions that fail.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from django.db import Error, connection, transaction
from django.utils.translation import gettext_lazy

from config.base.database import is_away, is_busy, sqlstate

POLL_SECONDS = 1.0
QUIET_SECONDS = 3.0
FULL = "53100"  # PostgreSQL's code
DISK_FULL = gettext_lazy("The disk of the database is full.")
READ_ONLY = gettext_lazy("The database is read-only, as a standby is.")
logger = logging.getLogger(__name__)


class Outage:
    """The present outage of this process, if any. `works`: whether the database can store something now."""

    def __init__(self, works: Callable[[], bool], *, poll: float = POLL_SECONDS, quiet: float = QUIET_SECONDS) -> None:
        self._works, self._poll, self._quiet = works, poll, quiet
        self._lock = threading.Lock()
        self._since: float | None = None  # monotonic, as `_last`
        self._last = 0.0
        self._refused = 0
        self.is_full = False  # whether it is a full disk

    def note(self, error: BaseException, *, refused: int = 0, request: Mapping[str, str] | None = None) -> None:
        """
        Note an `is_away` error, which refused so many requests. `request`: method and path, for the log.

        One statement that waited too long is not an outage, and gets its own line.
        """
        if is_busy(error):
            logger.warning("database busy: %s", _reason(error), extra=dict(request or {}))
            return
        with self._lock:
            self._last = time.monotonic()
            self._refused += refused
            self.is_full = self.is_full or is_full(error)
            if self._since is not None:
                return
            self._since = self._last
        code = {"sqlstate": sqlstate(error)} if sqlstate(error) else {}
        logger.error("database unavailable: %s", _reason(error), extra={**(request or {}), **code})
        threading.Thread(target=self._watch, daemon=True, name="outage").start()

    def _watch(self) -> None:
        while not self._ends():
            time.sleep(self._poll)

    def _ends(self) -> bool:
        seen = self._last
        if time.monotonic() - seen < self._quiet or not self._is_working():
            return False
        with self._lock:
            if self._last != seen or self._since is None:  # failed again during the test
                return False
            numbers = {"seconds": round(seen - self._since, 1), "refused": self._refused}
            self._since, self._refused, self.is_full = None, 0, False
        logger.warning("database available again", extra=numbers)
        return True

    def _is_working(self) -> bool:
        try:
            return self._works()
        except Exception:  # a defect in the test must not keep the outage open
            logger.exception("the test of the database failed; nothing else does")
            return True


def _reason(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def _write() -> bool:
    """Commit a write that changes nothing; return whether the database takes writes, as a standby does not."""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT current_setting('transaction_read_only'), pg_is_in_recovery()")
            if cursor.fetchone() != ("off", False):
                return False
            cursor.execute("SELECT pg_logical_emit_message(true, 'fieldpost', '')")
        else:
            cursor.execute("PRAGMA user_version")
            cursor.execute(f"PRAGMA user_version = {int(cursor.fetchone()[0])}")
    return True


def can_store() -> bool:
    """Return whether the database commits a write now. Raises errors that no outage causes, as a missing permission."""
    try:
        return _write()
    except Error as error:
        if not is_away(error):
            raise
        return False
    finally:
        connection.close()


def why_not_storing() -> Any:
    """
    Return why the database answers and stores nothing now, as a translated text; "" if it stores, or is only busy.

    Raises Error for one that does not answer. One that forbids this write says nothing about others. Requests notice a
    full disk before it does: PostgreSQL finds room for a small write.
    """
    try:
        if not _write():
            return READ_ONLY
    except Error as error:
        if is_full(error):
            return DISK_FULL
        if is_away(error) and not is_busy(error):
            raise
    return DISK_FULL if OUTAGE.is_full else ""


def is_full(error: BaseException) -> bool:
    return sqlstate(error) == FULL or "disk is full" in str(error)


OUTAGE = Outage(can_store)
