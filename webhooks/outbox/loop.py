"""
The loop of dispatch and delivery: for a bounded time in a Celery task, until stopped in `manage.py deliver`.

The main thread does all database work and records results in batches; threads only send. So a claimed delivery starts
immediately, and no database connection is held while a receiver is slow.
"""

import logging
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import Error, connection

from config.base.database import is_away
from config.outage import OUTAGE
from webhooks.enqueue import MAIL
from webhooks.outbox.abandoned import free_abandoned
from webhooks.outbox.claim import Claim, Claimer
from webhooks.outbox.dispatch import dispatch_batch, number_missed_rows
from webhooks.outbox.heartbeat import BEATS, Heartbeat
from webhooks.outbox.notices import dispatch_notices, queue_submitter_mails
from webhooks.outbox.record import record
from webhooks.outbox.send import Result, send
from webhooks.outbox.shares import Slots
from webhooks.outbox.waiting import Work, look_for_work

DATABASE_PAUSE_SECONDS = 1.0
DISPATCH_PAUSE_SECONDS = 0.05
LINGER_SECONDS = 0.02  # for more results to be recorded together: a round costs nearly the same for any number
BATCH = 64  # results that are worth a transaction
LONGEST_ATTEMPT_SECONDS = 35  # a mail has 30

logger = logging.getLogger(__name__)


def suspects_from() -> float:
    """
    Return when a process that starts now sends its first suspects.

    Kills in a row, each soon after a start, find none in flight then, and others are sent between them. It costs at
    most the time of the start: the leases that a kill leaves behind have at least as long to go.
    """
    lease: float = settings.DELIVERY_LEASE_SECONDS
    return time.monotonic() + lease * (1 - 1 / BEATS)


class Deliverer:
    """
    Dispatches and delivers with at most `slots` requests in flight. Before `suspects_from`, by `time.monotonic`, it
    sends no delivery whose last claim was lost.
    """

    def __init__(
        self, *, slots: Slots | None = None, stop: threading.Event | None = None, suspects_from: float = 0.0
    ) -> None:
        self.slots = slots or Slots(settings.DELIVERY_CONCURRENCY, settings.MAIL_CONCURRENCY)
        self.stop = stop or threading.Event()
        self._claimer = Claimer(self.slots)
        self._heartbeat = Heartbeat(self.slots)
        self._results: queue.SimpleQueue[Result] = queue.SimpleQueue()
        self._finished: list[Result] = []
        self._in_flight = {False: 0, True: 0}  # deliveries: of mails, and of all others
        self._has_dispatched = False
        self._suspects_from = suspects_from
        self._next_sweep = self._next_notices = self._next_dispatch = 0.0

    def run(self, *, until_idle: bool = False, budget_seconds: float = float("inf")) -> bool:
        """
        Work until stopped, until nothing is due, or until the budget is spent; then finish the open requests.

        Returns whether the budget ended it, so that the caller can ask for another run.
        """
        end = time.monotonic() + budget_seconds
        with ThreadPoolExecutor(sum(self.slots), thread_name_prefix="deliver") as pool:
            try:
                while not self.stop.is_set() and time.monotonic() < end:
                    is_busy = self._step(pool)
                    is_idle = not (is_busy or any(self._in_flight.values()) or self._finished)
                    if is_idle and until_idle:
                        return False
                    self._pause(is_busy=is_busy)
            finally:
                self._finish()
        return not self.stop.is_set()

    def _step(self, pool: ThreadPoolExecutor) -> bool:
        """Do one round: record, dispatch, claim and start. Return whether there was anything to do."""
        try:
            recorded = self._record()
            work = look_for_work()
            freed = self._sweep(work)
            dispatched = self._dispatch(work) + self._dispatch_notices(work)
            self._claimer.takes_suspects = time.monotonic() >= self._suspects_from
            claims = self._claimer.claim(self._room()) if work.due or dispatched or freed else []
        except Error as error:
            _note(error)
            connection.close()
            self.stop.wait(DATABASE_PAUSE_SECONDS)
            return True
        self._start(pool, claims)
        self._has_dispatched = bool(dispatched)
        return bool(recorded or dispatched or freed or claims)

    def _dispatch(self, work: Work) -> int:
        """Dispatch one batch, since results must be recorded soon. While requests are open, poll less often."""
        if any(self._in_flight.values()) and time.monotonic() < self._next_dispatch:
            return 0
        dispatched = dispatch_batch() if work.submissions else number_missed_rows()
        if dispatched:
            self._next_notices = 0.0  # they may have asked for replies
        self._next_dispatch = time.monotonic() + (0 if dispatched else DISPATCH_PAUSE_SECONDS)
        return dispatched

    def _dispatch_notices(self, work: Work) -> int:
        """Dispatch notices, and mails to submitters, as often as an idle loop does."""
        if not (work.notices or work.submitter_mails) or time.monotonic() < self._next_notices:
            return 0
        self._next_notices = time.monotonic() + settings.DELIVERY_POLL_SECONDS
        return dispatch_notices() + queue_submitter_mails()

    def _sweep(self, work: Work) -> int:
        """From time to time, free the deliveries of dead processes; return how many."""
        if time.monotonic() < self._next_sweep:
            return 0
        self._heartbeat.renew()  # or this process could free its own, after a long pause
        self._next_sweep = time.monotonic() + settings.DELIVERY_LEASE_SECONDS / 5
        return free_abandoned() if work.abandoned else 0

    def _room(self) -> Slots:
        return Slots(self.slots.others - self._in_flight[False], self.slots.mails - self._in_flight[True])

    def _start(self, pool: ThreadPoolExecutor, claims: Sequence[Claim]) -> None:
        self._heartbeat.hold(claim.token for claim in claims)
        for claim in claims:
            self._in_flight[claim.delivery.channel == MAIL] += 1
            pool.submit(self._send, claim)

    def _send(self, claim: Claim) -> None:
        self._results.put(send(claim))

    def _record(self) -> int:
        """Record the finished attempts together; they are kept until that succeeds."""
        while not self._results.empty():
            self._take_in([self._results.get()])
        recorded = len(self._finished)
        if recorded:
            self._write_down()
        return recorded

    def _take_in(self, finished: Sequence[Result]) -> None:
        for result in finished:
            self._in_flight[result.claim.delivery.channel == MAIL] -= 1
            self._claimer.release(result.claim)
            self._finished.append(result)

    def _write_down(self) -> None:
        """Record finished attempts; one that cannot be recorded is left to its lease and does not stop the others."""
        try:
            record(self._finished)
            self._forget(self._finished)
        except Exception as error:
            if is_away(error):
                raise
            logger.exception("recording a batch failed; continuing one by one")
            while self._finished:
                self._write_down_one(self._finished[-1])
                self._forget(self._finished[-1:])

    def _write_down_one(self, result: Result) -> None:
        try:
            record([result])
        except Exception as error:
            if is_away(error):
                raise
            logger.exception("the result of delivery %s cannot be recorded", result.claim.delivery.pk)

    def _forget(self, results: Sequence[Result]) -> None:
        self._heartbeat.release(result.claim.token for result in results)
        self._finished = self._finished[: -len(results)]

    def _pause(self, *, is_busy: bool) -> None:
        """
        Wait for results that are recorded together; without any, until the next poll for new work.

        A busy loop only gives most of the open requests a moment.
        """
        patience = LINGER_SECONDS if is_busy else settings.DELIVERY_POLL_SECONDS
        if self._has_dispatched:
            return  # more may be waiting
        if not any(self._in_flight.values()):
            self.stop.wait(0 if is_busy else patience)
            return
        waited: list[Result] = []
        enough = min(BATCH, max(1, sum(self._in_flight.values()) * 3 // 4))
        end = time.monotonic() + patience
        while len(waited) < enough and (left := end - time.monotonic()) > 0:
            try:
                waited.append(self._results.get(timeout=left))
            except queue.Empty:
                break
            end = min(end, time.monotonic() + LINGER_SECONDS) if len(waited) == 1 else end
        self._take_in(waited)

    def _finish(self) -> None:
        """Wait for the open requests and record them; an attempt is bounded, so this is too."""
        end = time.monotonic() + LONGEST_ATTEMPT_SECONDS
        while any(self._in_flight.values()) and (left := end - time.monotonic()) > 0:
            try:
                self._take_in([self._results.get(timeout=left)])
            except queue.Empty:
                break
        try:
            self._record()
        except Error as error:
            logger.warning("results not recorded, their deliveries are sent again when the leases end: %s", error)
            connection.close()
        self._heartbeat.end()


def _note(error: Error) -> None:
    """Log an outage once, and any other error of the database each time: the loop goes on after both."""
    if is_away(error):
        OUTAGE.note(error)
    else:
        logger.error("a round of deliveries failed; trying again", exc_info=error)
