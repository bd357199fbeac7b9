"""Draining due deliveries with `manage.py deliver`, compared with a bare pool that posts as many messages."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from tests.load.deliveries.bare import Posts, bare_seconds
from tests.load.deliveries.receiver import Receiver
from tests.load.deliveries.saved_tables import SavedTables
from tests.load.rounds import Bench
from tests.services.processes import Process
from tests.services.waiting import eventually

ORGANIZATIONS = 4  # the endpoints are spread over them
DRAIN_SECONDS = 900.0
POLL_SECONDS = 0.05  # rarely enough not to be measured
TABLES = ("webhooks_receiver", "webhooks_delivery")
_ARRANGE = "from tests.load.deliveries import backlog; backlog.arrange_due(urls={}, organizations={}, deliveries={})"
_SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{}'"
_UNSENT = "SELECT count(*) FROM webhooks_delivery WHERE status = 'pending'"
_RESULTS = """
    SELECT count(*) FILTER (WHERE status = 'delivered' AND attempt_count = 1), count(*),
           (SELECT count(*) FROM webhooks_attempt WHERE error = '')
      FROM webhooks_delivery
"""
# The headers of a message (docs/contract.md 7.6); the signature has the length of a real one.
HEADERS = {
    "Content-Type": "application/json",
    "User-Agent": "Fieldpost-Webhooks/1.0",
    "webhook-timestamp": "1795216914",
    "webhook-signature": f"v1,{'A' * 43}=",
}


class Backlog:
    """Due deliveries to some endpoints of the receiver, which can be made due again."""

    def __init__(self, bench: Bench, receiver: Receiver, *, endpoints: int, deliveries: int) -> None:
        self.bench = bench
        self.receiver = receiver
        self.deliveries = deliveries
        self.urls = [f"{receiver.url}/hook/{number}" for number in range(endpoints)]
        code = _ARRANGE.format(self.urls, min(endpoints, ORGANIZATIONS), deliveries)
        arranged = bench.shell(code)
        self.posts = Posts(self.urls, HEADERS, arranged["body"], deliveries)
        self._saved = SavedTables(bench.url, TABLES)
        self._saved.empty("webhooks_delivery")

    def make_due(self) -> None:
        """Make all of them due, as at the start."""
        self.receiver.forget()
        self._saved.put_back()

    def drain(self, processes: int) -> float:
        """Return the seconds from the first request of so many new processes to the last recorded result."""
        with delivering(self.bench, processes) as started:
            self.make_due()
            return self.wait(started)

    def wait(self, process: Process) -> float:
        """Wait until all are delivered and return the seconds since the first request. Raises AssertionError."""
        # Sparingly: each question costs the receiver time that is measured.
        eventually(
            lambda: not process.running or self.receiver.requests() >= self.deliveries,
            DRAIN_SECONDS,
            every=POLL_SECONDS,
        )
        process.wait_until(lambda: self.bench.query(_UNSENT)[0] == 0)
        end = time.monotonic()
        self._check()
        return end - self.receiver.taken().first

    def _check(self) -> None:
        """Raise AssertionError unless each was sent once, taken once and recorded as delivered."""
        taken = self.receiver.taken()
        found = (*self.bench.query(_RESULTS), taken.requests, taken.distinct)
        assert set(found) == {self.deliveries}, f"delivered, rows, attempts, requests, distinct ones: {found}"

    def bare(self) -> float:
        """Return the seconds of the bare pool for as many messages."""
        self.receiver.forget()
        seconds = bare_seconds(self.posts)
        taken = self.receiver.taken()
        assert (taken.requests, taken.distinct) == (self.deliveries, self.deliveries), taken
        return seconds


@contextmanager
def delivering(bench: Bench, processes: int) -> Iterator[Process]:
    """Run `manage.py deliver` so many times, and yield the first when all of them poll."""
    with ExitStack() as stack:
        started = []
        for number in range(processes):
            # Sessions of deliverers that have ended, and more of the first one, may come and go meanwhile.
            session = f"deliver-{number}-{time.monotonic_ns()}"
            env = bench.application.environment | {"DATABASE_URL": f"{bench.url}?application_name={session}"}
            log = bench.application.directory / f"deliver-{number}.log"
            started.append(Process(f"deliver {number}", [sys.executable, "manage.py", "deliver"], log=log, env=env))
            stack.callback(started[-1].stop)
            started[-1].wait_until(partial(_has, bench, session))
        yield started[0]


def _has(bench: Bench, session: str) -> bool:
    return bool(bench.query(_SESSIONS.format(session))[0])
