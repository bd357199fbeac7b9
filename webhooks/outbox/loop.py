"""
The loop of dispatch and delivery: for a bounded time in a Celery task, until stopped in `manage.py deliver`.

The main thread does all database work and records results in batches; threads only send. So a claimed delivery starts
immediately, and no database connection is held while a receiver is slow.
"""

import logging
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from django.conf import settings
from django.db import connection

from config.database import DATABASE_AWAY, is_away
from webhooks.outbox.claim import claim_due
from webhooks.outbox.dispatch import dispatch_batch
from webhooks.outbox.notices import dispatch_notices
from webhooks.outbox.record import record
from webhooks.outbox.send import Result, requests_of, send

DATABASE_PAUSE_SECONDS = 1.0

logger = logging.getLogger(__name__)


class Deliverer:
    """Dispatches and delivers with at most `concurrency` requests in flight."""

    def __init__(self, *, concurrency: int | None = None) -> None:
        self.concurrency = concurrency or settings.DELIVERY_CONCURRENCY
        self.stop = threading.Event()
        self._in_flight: set[Future[list[Result]]] = set()
        self._finished: list[Result] = []

    def run(self, *, until_idle: bool = False, budget_seconds: float = float("inf")) -> bool:
        """
        Work until stopped, until nothing is due, or until the budget is spent; then finish the open requests.

        Returns whether the budget ended it, so that the caller can ask for another run.
        """
        end = time.monotonic() + budget_seconds
        with ThreadPoolExecutor(self.concurrency, thread_name_prefix="deliver") as pool:
            while not self.stop.is_set() and time.monotonic() < end:
                busy = self._step(pool)
                if not busy and until_idle and not self._in_flight and not self._finished:
                    return False
                if not busy:
                    self._pause()
            self._finish()
        return not self.stop.is_set()

    def _step(self, pool: ThreadPoolExecutor) -> bool:
        """Do one round: record, dispatch, claim and start. Return whether there was anything to do."""
        try:
            recorded = self._record()
            # One batch a round: results must be recorded before their leases end.
            dispatched = dispatch_batch() + dispatch_notices()
            claims = claim_due(self.concurrency - len(self._in_flight))
        except DATABASE_AWAY as error:
            logger.warning("database unavailable, trying again: %s", error)
            connection.close()
            self.stop.wait(DATABASE_PAUSE_SECONDS)
            return True
        self._in_flight |= {pool.submit(send, together) for together in requests_of(claims)}
        return bool(recorded or dispatched or claims)

    def _record(self) -> int:
        """Record the finished attempts together; they are kept until that succeeds."""
        done = {future for future in self._in_flight if future.done()}
        self._in_flight -= done
        self._finished += [result for future in done for result in future.result()]
        recorded = len(self._finished)
        if recorded:
            self._write_down()
        return recorded

    def _write_down(self) -> None:
        """Record finished attempts; one that cannot be recorded is left to its lease and does not stop the others."""
        try:
            record(self._finished)
            self._finished = []
        except Exception as error:
            if is_away(error):
                raise
            logger.exception("recording a batch failed; continuing one by one")
            while self._finished:
                self._write_down_one(self._finished[-1])
                self._finished.pop()

    def _write_down_one(self, result: Result) -> None:
        try:
            record([result])
        except Exception as error:
            if is_away(error):
                raise
            logger.exception("the result of delivery %s cannot be recorded", result.claim.delivery.pk)

    def _pause(self) -> None:
        """Wait for an answer, or until the next poll for new work."""
        if self._in_flight:
            wait(self._in_flight, timeout=settings.DELIVERY_POLL_SECONDS, return_when=FIRST_COMPLETED)
        else:
            self.stop.wait(settings.DELIVERY_POLL_SECONDS)

    def _finish(self) -> None:
        """Wait for the open requests and record them; an attempt is bounded, so this is too."""
        wait(self._in_flight, timeout=settings.DELIVERY_LEASE_SECONDS)
        try:
            self._record()
        except DATABASE_AWAY as error:
            logger.warning("results not recorded, their deliveries are sent again when the leases end: %s", error)
            connection.close()
