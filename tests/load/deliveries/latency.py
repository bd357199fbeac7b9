"""p99 of submitting at a fixed rate while due deliveries drain, compared with quiet rounds of the same run."""

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tests.load.client import post_bytes
from tests.load.deliveries.drain import Backlog, delivering
from tests.load.deliveries.paced import Timed, drive_at_rate
from tests.load.deliveries.receiver import Receiver
from tests.load.deliveries.report import MAX_P99_RATIO, tell_progress
from tests.load.request import BODY
from tests.load.rounds import CLIENTS, Bench

ENDPOINTS = 16
SHARE = 1 / 3  # of the throughput that was measured just before
THROUGHPUT_SECONDS = 3.0
_SUBMITTED = "SELECT count(*) FROM submissions_submission"


@dataclass
class Latencies:
    """p99 in milliseconds of each round."""

    per_second: float
    quiet: list[float] = field(default_factory=list)
    draining: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return median(self.draining) / median(self.quiet)

    def line(self) -> str:
        figures = f"{median(self.quiet):.1f} ms quiet, {median(self.draining):.1f} ms while deliveries drain"
        pairs = [one / other for one, other in zip(self.draining, self.quiet, strict=True)]
        return (
            f"p99 of submit, {CLIENTS} clients, {self.per_second:.0f} a second: {figures}: ratio {self.ratio:.2f}, "
            f"of pairs {min(pairs):.2f}..{max(pairs):.2f}; the mark is {MAX_P99_RATIO:g}."
        )

    def plain(self) -> dict[str, Any]:
        return {
            "per_second": self.per_second,
            "quiet_p99_ms": self.quiet,
            "draining_p99_ms": self.draining,
            "ratio": self.ratio,
        }


def measure_latency(bench: Bench, receiver: Receiver, *, deliveries: int, seconds: float, rounds: int) -> Latencies:
    """
    Submit at a third of the throughput, in turn without and with a backlog.

    A deliverer runs in both: it dispatches the submissions in quiet rounds too. With a backlog, only requests count
    that were due while deliveries arrived.
    """
    throughput = bench.submit(THROUGHPUT_SECONDS).load.per_second
    backlog = Backlog(bench, receiver, endpoints=ENDPOINTS, deliveries=deliveries)
    latencies = Latencies(per_second=throughput * SHARE)
    for number in range(1, rounds + 1):
        with delivering(bench, 1) as process:
            tell_progress(f"latency, round {number} of {rounds}: quiet")
            latencies.quiet.append(_p99(_submit(bench, latencies.per_second, seconds)))
            tell_progress(f"latency, round {number} of {rounds}: while {deliveries:,} deliveries drain")
            backlog.make_due()
            timed = _submit(bench, latencies.per_second, seconds)
            backlog.wait(process)
            arrivals = receiver.taken()
            latencies.draining.append(_p99([one for one in timed if arrivals.first <= one.due <= arrivals.last]))
    return latencies


def _submit(bench: Bench, per_second: float, seconds: float) -> list[Timed]:
    """Submit for so long, and check that each answer has its row."""
    before = bench.query(_SUBMITTED)[0]
    request = post_bytes(bench.application.port, bench.path, bench.key, BODY)
    timed = drive_at_rate(bench.application.port, request, clients=CLIENTS, per_second=per_second, seconds=seconds)
    stored = bench.query(_SUBMITTED)[0] - before
    assert stored == len(timed), f"{len(timed)} were answered 201, {stored} are in the table"
    return timed


def _p99(timed: list[Timed]) -> float:
    """Return milliseconds."""
    latencies = sorted(one.latency for one in timed)
    return 1000 * latencies[min(len(latencies) - 1, int(len(latencies) * 0.99))]
