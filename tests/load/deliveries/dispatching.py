"""Dispatching submissions, compared with one INSERT … SELECT of the same deliveries."""

from tests.load.deliveries.receiver import Receiver
from tests.load.deliveries.saved_tables import SavedTables
from tests.load.rounds import Bench

WEBHOOKS = 3
DELIVERIES = "webhooks_delivery"
_PACKAGE = "from tests.load.deliveries import backlog; backlog"
_COUNTS = """
    SELECT (SELECT count(*) FROM webhooks_delivery WHERE status = 'pending'),
           (SELECT count(*) FROM submissions_submission WHERE dispatched_at IS NULL)
"""


class Dispatching:
    """Submissions of a form with three webhooks, which can be dispatched again and again."""

    def __init__(self, bench: Bench, receiver: Receiver, *, submissions: int) -> None:
        self._bench = bench
        self._counts = (WEBHOOKS * submissions, 0)
        urls = [f"{receiver.url}/dispatched/{number}" for number in range(WEBHOOKS)]
        bench.empty()
        bench.shell(f"{_PACKAGE}.arrange_undispatched(urls={urls}, submissions={submissions})")
        self._undispatched = SavedTables(bench.url, ["submissions_submission"])

    def dispatch(self) -> float:
        """Return the deliveries that dispatch makes a second. Raises AssertionError unless it makes all."""
        self._undispatched.put_back()
        seconds: float = self._bench.shell(f"{_PACKAGE}.dispatch()")["seconds"]
        self._check()
        return self._counts[0] / seconds

    def insert(self) -> float:
        """Return the rows a second of one INSERT … SELECT of the deliveries that dispatch has just made."""
        same = SavedTables(self._bench.url, [DELIVERIES])
        same.empty(DELIVERIES)
        seconds = same.seconds_to_refill(DELIVERIES)
        self._check()
        return self._counts[0] / seconds

    def _check(self) -> None:
        counts = self._bench.query(_COUNTS)
        assert counts == self._counts, f"due deliveries, undispatched submissions: {counts}"
