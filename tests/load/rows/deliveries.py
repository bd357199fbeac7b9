"""Deliveries: draining, dispatching, and submitting meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from tests.load.deliveries.dispatching import Dispatching
from tests.load.deliveries.drain import Backlog, delivering
from tests.load.deliveries.latency import ENDPOINTS, SHARE, measure_throughput, p99, p99_between, submit_at_rate
from tests.load.report.figures import Round, Row
from tests.load.rows.kinds import Kind, OneRound
from tests.load.running import Options, Place

_BARE = "urllib3's pool with 32 threads, posting as many messages to the same receiver"


def _drain_row(name: str, what: str, mark: float, aim: float | None = None) -> Row:
    return Row(name, what, _BARE, "a second", mark, aim, higher_is_better=True)


DELIVER16 = _drain_row("deliver16", "10,000 due deliveries to 16 endpoints, one `manage.py deliver`", 0.35, 0.6)
DELIVER16_2 = _drain_row("deliver16-two", "The same by two processes", 0.35, 0.6)
DELIVER1 = _drain_row("deliver1", "10,000 due deliveries to one endpoint, one `manage.py deliver`", 0.2)
DISPATCH = Row(
    "dispatch",
    "Dispatching 10,000 submissions of a form with three webhooks: deliveries made",
    "one INSERT … SELECT of the same deliveries",
    "a second",
    mark=0.2,
    higher_is_better=True,
)
LATENCY = Row(
    "latency",
    "p99 of submitting at a third of the throughput while 10,000 deliveries drain",
    "p99 without them",
    "ms",
    mark=3,
)


@contextmanager
def draining(rows: dict[Row, int], endpoints: int, place: Place, options: Options) -> Iterator[OneRound]:
    """Yield a round that drains with each number of processes, then posts with the bare pool."""
    place.bench.empty()
    backlog = Backlog(place.bench, place.receiver, endpoints=endpoints, deliveries=options.deliveries)

    def one_round() -> dict[str, Round]:
        seconds = {row.name: backlog.drain(processes) for row, processes in rows.items()}
        rival = options.deliveries / backlog.bare()
        return {name: Round(options.deliveries / ours, rival) for name, ours in seconds.items()}

    yield one_round


@contextmanager
def dispatching(place: Place, options: Options) -> Iterator[OneRound]:
    """Yield a round that dispatches, then inserts the same rows."""
    work = Dispatching(place.bench, place.receiver, submissions=options.deliveries)
    yield lambda: {DISPATCH.name: Round(work.dispatch(), work.insert())}


@contextmanager
def submitting_meanwhile(place: Place, options: Options) -> Iterator[OneRound]:
    """
    Yield a round that submits at a fixed rate without a backlog, then with one.

    A deliverer runs in both: it dispatches the submissions in the quiet half too. With a backlog, only requests count
    that were due while deliveries arrived.
    """
    bench, receiver = place.bench, place.receiver
    bench.empty()
    rate = SHARE * measure_throughput(bench)
    bench.empty()
    backlog = Backlog(bench, receiver, endpoints=ENDPOINTS, deliveries=options.deliveries)

    def one_round() -> dict[str, Round]:
        with delivering(bench, 1) as process:
            quiet = p99(submit_at_rate(bench, rate, options.seconds))
            backlog.make_due()
            timed = submit_at_rate(bench, rate, options.seconds)
            backlog.wait(process)
            arrivals = receiver.taken()
        return {LATENCY.name: Round(p99_between(timed, arrivals.first, arrivals.last), quiet)}

    yield one_round


KINDS = (
    Kind((DELIVER16, DELIVER16_2), "service", partial(draining, {DELIVER16: 1, DELIVER16_2: 2}, 16)),
    Kind((DELIVER1,), "service", partial(draining, {DELIVER1: 1}, 1)),
    Kind((DISPATCH,), "service", dispatching),
    Kind((LATENCY,), "service", submitting_meanwhile),
)
