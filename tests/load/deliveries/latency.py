"""Submitting at a fixed rate, for the rows that compare its p99 with and without other work."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.load.client import drive, post_bytes
from tests.load.deliveries.paced import Timed, drive_at_rate
from tests.load.request import BODY
from tests.load.rounds import CLIENTS, GENERATORS, Bench
from tests.load.statements import TABLE

ENDPOINTS = 16
SHARE = 1 / 3  # of the throughput that was measured just before
THROUGHPUT_SECONDS = 3.0
FEWEST_REQUESTS = 100  # of which a p99 can be taken
_SUBMITTED = f"SELECT count(*) FROM {TABLE}"


def measure_throughput(bench: Bench) -> float:
    """Return submissions a second, without emptying the table before."""
    port, request = bench.application.port, _request(bench)
    with _each_has_its_row(bench) as answered:
        load = drive(port, request, clients=CLIENTS, processes=GENERATORS, seconds=THROUGHPUT_SECONDS)
        answered.append(load.requests)
    return load.per_second


def submit_at_rate(bench: Bench, per_second: float, seconds: float) -> list[Timed]:
    """Submit for so long."""
    port, request = bench.application.port, _request(bench)
    with _each_has_its_row(bench) as answered:
        timed = drive_at_rate(port, request, clients=CLIENTS, per_second=per_second, seconds=seconds)
        answered.append(len(timed))
    return timed


@contextmanager
def _each_has_its_row(bench: Bench) -> Iterator[list[int]]:
    """Yield a list for the number of answers. Raises AssertionError unless as many rows were added."""
    before, answered = bench.query(_SUBMITTED)[0], list[int]()
    yield answered
    stored = bench.query(_SUBMITTED)[0] - before
    assert answered == [stored], f"{answered} were answered 201, {stored} are in the table"


def _request(bench: Bench) -> bytes:
    return post_bytes(bench.application.port, bench.path, bench.key, BODY)


def p99_between(timed: list[Timed], first: float, last: float) -> float:
    """Return the p99 of the requests that were due between two moments. Raises AssertionError for too few."""
    busy = [one for one in timed if first <= one.due <= last]
    assert len(busy) >= FEWEST_REQUESTS, f"only {len(busy)} requests were due meanwhile: take longer rounds"
    return p99(busy)


def p99(timed: list[Timed]) -> float:
    """Return milliseconds."""
    latencies = sorted(one.latency for one in timed)
    return 1000 * latencies[min(len(latencies) - 1, int(len(latencies) * 0.99))]
