"""
Sending deliveries that may have killed their process, each in a separate process (docs/adr/0046).

A deliverer that finds such deliveries starts `manage.py deliver --alone`. That process forks a child for each of them,
so that one that dies takes nothing with it, and is known by its exit. It has one thread, so that it can fork.
"""

import dataclasses
import datetime as dt
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time

from django.conf import settings
from django.db import Error, connection

from config.database import leave_connections_to_parent
from config.outage import OUTAGE
from config.times import now
from webhooks.channels.outcome import Outcome
from webhooks.enqueue import MAIL
from webhooks.models import Delivery
from webhooks.outbox.abandoned import CRASHED
from webhooks.outbox.claim import Claim, Claimer
from webhooks.outbox.heartbeat import BEATS, Heartbeat
from webhooks.outbox.record import record
from webhooks.outbox.send import Result, send
from webhooks.outbox.shares import Slots

CHILDREN = Slots(others=16, mails=4)
IDLE_SECONDS = 5.0  # without work, then the process ends
BLOCKED = 75  # its exit status when the due deliveries may not be sent now, such as to a full endpoint (EX_TEMPFAIL)
BLOCKED_PAUSES = (1.0, 30.0)  # seconds: the first, doubled each time in a row, and the longest
CHILD_SECONDS = 40.0  # the longest attempt takes 30
POLL_SECONDS, IDLE_POLL_SECONDS = 0.02, 0.25

logger = logging.getLogger(__name__)


def is_needed() -> bool:
    """Return whether a delivery is due that needs its own process."""
    return Delivery.objects.claimable(alone=True).exists()


class AloneProcess:
    """The process, for the deliverer that starts it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._not_before = 0.0  # monotonic
        self._pause = BLOCKED_PAUSES[0]

    def is_running(self) -> bool:
        """Return whether it has something to do."""
        if self._process is not None and (status := self._process.poll()) is not None:
            self._process = None
            self._note_end(is_blocked=status == BLOCKED)
        return self._process is not None

    def _note_end(self, *, is_blocked: bool) -> None:
        """Wait longer each time that it could send nothing: an endpoint is full for seconds, or its circuit is open."""
        first, longest = BLOCKED_PAUSES
        self._not_before = time.monotonic() + (self._pause if is_blocked else 0)
        self._pause = min(2 * self._pause, longest) if is_blocked else first

    def start_if_needed(self) -> None:
        """Start it, unless it is running or has nothing to do."""
        if self.is_running() or time.monotonic() < self._not_before or not is_needed():
            return
        manage = str(settings.BASE_DIR / "manage.py")
        command = [sys.executable, manage, "deliver", "--alone", "--parent", str(os.getpid())]
        self._process = subprocess.Popen(command, start_new_session=True)  # noqa: S603 - our own

    def end(self) -> None:
        """Let it finish what it is sending, and no more."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(CHILD_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


@dataclasses.dataclass(frozen=True, slots=True)
class _Child:
    """A fork that sends one delivery and writes the outcome to a pipe."""

    claim: Claim
    pipe: int
    started: float  # monotonic
    started_at: dt.datetime


class AloneDeliverer:
    """The work of that process."""

    def __init__(self, stop: threading.Event, *, parent: int | None = None) -> None:
        """`parent`: the process id of the deliverer that started this, if one did."""
        self._stop, self._parent = stop, parent
        self._claimer = Claimer(alone=True)
        self._heartbeat = Heartbeat(CHILDREN)
        self._children: dict[int, _Child] = {}
        self._finished: list[Result] = []
        self._next_beat = 0.0

    def run(self) -> int:
        """Send until nothing is due, or the deliverer that started this has ended. Return the exit status."""
        idle_since = time.monotonic()
        while not self._stop.is_set() and self._has_parent() and time.monotonic() - idle_since < IDLE_SECONDS:
            if self._step():
                idle_since = time.monotonic()
            time.sleep(POLL_SECONDS if self._children else IDLE_POLL_SECONDS)
        self._finish()
        return BLOCKED if is_needed() else 0

    def _finish(self) -> None:
        """Wait for the children and record their outcomes. One that no database takes for a lease is sent again."""
        until = time.monotonic() + settings.DELIVERY_LEASE_SECONDS
        while self._children or (self._finished and time.monotonic() < until):
            if self._children:
                until = time.monotonic() + settings.DELIVERY_LEASE_SECONDS
            self._step(claims=False)
            time.sleep(POLL_SECONDS)

    def _has_parent(self) -> bool:
        return self._parent in (None, os.getppid())

    def _step(self, *, claims: bool = True) -> bool:
        """Record outcomes, and start due deliveries. Return whether there was anything to do."""
        self._collect()
        try:
            if time.monotonic() >= self._next_beat:  # first: a record may wait for another transaction
                self._heartbeat.renew()
                self._next_beat = time.monotonic() + settings.DELIVERY_LEASE_SECONDS / BEATS
            if self._finished:
                record(self._finished)
                self._heartbeat.release(result.claim.token for result in self._finished)
                self._finished = []
            for claim in self._claimer.claim(self._room()) if claims else ():
                self._fork(claim)
        except Error as error:
            OUTAGE.note(error)
            connection.close()
            time.sleep(1)
            return True
        return bool(self._children)

    def _room(self) -> Slots:
        mails = sum(child.claim.delivery.channel == MAIL for child in self._children.values())
        return Slots(CHILDREN.others - len(self._children) + mails, CHILDREN.mails - mails)

    def _fork(self, claim: Claim) -> None:
        self._heartbeat.hold([claim.token], in_background=False)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _send_and_exit(claim, writing)
        os.close(writing)
        self._children[child] = _Child(claim, reading, time.monotonic(), now())

    def _collect(self) -> None:
        """Take in the outcomes of children that have ended; kill those that take too long."""
        for pid, child in list(self._children.items()):
            if time.monotonic() - child.started > CHILD_SECONDS:
                os.kill(pid, signal.SIGKILL)
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                continue
            del self._children[pid]
            with os.fdopen(child.pipe, "rb") as pipe:
                written = pipe.read()
            found = json.loads(written) if written else None
            outcome, request = (Outcome(**found["outcome"]), found["request"]) if found else (CRASHED, "")
            if outcome.crashed:
                logger.error("delivery %s ended the process that sent it", child.claim.delivery.pk)
            self._finished.append(Result(child.claim, outcome, child.started_at, request))


def _send_and_exit(claim: Claim, pipe: int) -> None:
    """Send in this fork, and end it: nothing of the parent's is cleaned up, its database connection least of all."""
    status = 1
    try:
        leave_connections_to_parent()  # a channel may read what the claim has not loaded
        (result,) = send([claim])
        written = {"outcome": dataclasses.asdict(result.outcome), "request": result.request}
        os.write(pipe, json.dumps(written).encode())  # less than a pipe holds
        status = 0
    finally:
        os._exit(status)
