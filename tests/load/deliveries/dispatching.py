"""Dispatching submissions, compared with one INSERT … SELECT of the same deliveries."""

import json

from tests.load.deliveries.receiver import Receiver
from tests.load.deliveries.report import MARKS, Comparison, tell_progress
from tests.load.deliveries.saved_tables import SavedTables
from tests.load.rounds import Bench

WEBHOOKS = 3
DELIVERIES = "webhooks_delivery"
_PACKAGE = "from tests.load.deliveries import backlog; backlog"
_COUNTS = """
    SELECT (SELECT count(*) FROM webhooks_delivery WHERE status = 'pending'),
           (SELECT count(*) FROM submissions_submission WHERE dispatched_at IS NULL)
"""


def measure_dispatch(bench: Bench, receiver: Receiver, *, submissions: int, rounds: int) -> list[Comparison]:
    """Dispatch the submissions of a form with three webhooks and insert the same rows, in turn."""
    urls = [f"{receiver.url}/dispatched/{number}" for number in range(WEBHOOKS)]
    bench.empty()
    _run(bench, f"arrange_undispatched(urls={urls}, submissions={submissions})")
    undispatched = SavedTables(bench.url, ["submissions_submission"])
    ours: list[float] = []
    inserts: list[float] = []
    for number in range(1, rounds + 1):
        tell_progress(f"dispatch, round {number} of {rounds}")
        undispatched.put_back()
        ours.append(WEBHOOKS * submissions / _run(bench, "dispatch()")["seconds"])
        counts = bench.query(_COUNTS)
        assert counts == (WEBHOOKS * submissions, 0), f"due deliveries, undispatched submissions: {counts}"
        same = SavedTables(bench.url, [DELIVERIES])
        same.empty(DELIVERIES)
        inserts.append(WEBHOOKS * submissions / same.seconds_to_refill(DELIVERIES))
        assert bench.query(_COUNTS) == counts
    return [Comparison("dispatch, deliveries made", ours, inserts, MARKS["dispatch"])]


def _run(bench: Bench, call: str) -> dict[str, float]:
    code = f"{_PACKAGE}.{call}"
    result: dict[str, float] = json.loads(bench.application.manage("shell", "--verbosity", "0", "--command", code))
    return result
