"""
`make bench`: submissions and deliveries a second, each compared with a bare reference in the same run.

    submit      POST /api/submit, compared with pgbench doing the same look-up and INSERT
    deliver16   10,000 due deliveries to 16 endpoints, drained by one `manage.py deliver` and by two, compared with
                urllib3's pool that posts as many messages to the same receiver
    deliver1    the same to one endpoint, by one process
    dispatch    10,000 submissions of a form with three webhooks, compared with one INSERT … SELECT of their deliveries
    latency     p99 of submitting at a fixed rate while 10,000 deliveries drain, compared with quiet rounds

Each pair runs in turn on one throw-away PostgreSQL with its default durability, so a slow or noisy machine slows both
and the ratio is what counts. The load is made on the cores it measures. No figure fails the run; a wrong answer does.

    python -m tests.load.bench [--only NAME[,NAME]] [--seconds 8] [--rounds 3] [--deliveries 10000] [--json FILE]

`--only deliver` is both of deliver16 and deliver1. To see where a process spends its time, run `py-spy record --pid`
on it meanwhile; py-spy is not among our requirements.
"""

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.load.deliveries.measure import measure_deliveries
from tests.load.report import Figures, describe, tell
from tests.load.rounds import Bench
from tests.services.application import Application
from tests.services.environment import POSTGRESQL, service_environment
from tests.services.packages import ensure
from tests.services.postgresql import PostgreSQL, create_database
from tests.services.redis_server import RedisServer

WEB_PROCESSES = 2
SWEEP_SECONDS = "5"  # beat's own default; tests have it shorter
WARM_UP_SECONDS = 2.0
NAMES = ("submit", "deliver16", "deliver1", "dispatch", "latency")
GROUPS = {"deliver": ("deliver16", "deliver1")}


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.bench", description="Measure; see tests/load/bench.py.")
    parser.add_argument("--only", type=chosen, default=NAMES, metavar="NAMES", help=f"some of {', '.join(NAMES)}")
    parser.add_argument("--seconds", type=float, default=8, help="length of a round of submitting (8)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each kind, in turn (3)")
    parser.add_argument("--deliveries", type=int, default=10_000, help="deliveries of a round (10,000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there too")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: stops everything that it started
    ensure(["postgres", "redis-server"])
    plain: dict[str, Any] = {}
    if "submit" in options.only:
        plain |= measure_submit(options.seconds, options.rounds)
    if names := [name for name in options.only if name != "submit"]:
        with running_bench() as bench:
            plain["deliveries"] = measure_deliveries(bench, names, options.seconds, options.rounds, options.deliveries)
    if options.json:
        options.json.write_text(json.dumps(plain, indent=2) + "\n")


def chosen(text: str) -> tuple[str, ...]:
    """Return the benchmarks of `submit,deliver`, in their order; all of them for an empty text."""
    named = {one for name in filter(None, text.split(",")) for one in GROUPS.get(name, (name,))}
    if unknown := named - set(NAMES):
        raise argparse.ArgumentTypeError(
            f"unknown: {', '.join(sorted(unknown))}; known: {', '.join([*NAMES, *GROUPS])}"
        )
    return tuple(name for name in NAMES if name in named) or NAMES


def measure_submit(seconds: float, rounds: int) -> dict[str, Any]:
    """Print the table of submitting, and return its figures."""
    with running_bench() as bench:
        figures = measure(bench, seconds, rounds)
        conditions = describe(bench, seconds, rounds)
    print(tell(figures, conditions), flush=True)
    return {**conditions, **figures.plain()}


@contextmanager
def running_bench() -> Iterator[Bench]:
    """Yield PostgreSQL, Redis and the web role, all started here; Celery is started later."""
    with (
        tempfile.TemporaryDirectory(prefix="fieldpost-bench-", ignore_cleanup_errors=True) as name,
        PostgreSQL() as postgresql,
        RedisServer() as redis,
    ):
        environment = service_environment(
            data_dir=Path(name),
            backend=POSTGRESQL,
            database_url=create_database(postgresql.url, "fieldpost"),
            redis_url=redis.url,
            web_concurrency=WEB_PROCESSES,
            extra={"DELIVERY_SWEEP_SECONDS": SWEEP_SECONDS},
        )
        with Application(environment, Path(name) / "service", backend=POSTGRESQL, delivers=False) as application:
            yield Bench(application, postgresql, redis)


def measure(bench: Bench, seconds: float, rounds: int) -> Figures:
    """Measure first the web role and pgbench in turn, then the web role while Celery's worker and beat dispatch."""
    bench.submit(WARM_UP_SECONDS)
    bench.pgbench(WARM_UP_SECONDS)
    figures = Figures()
    for number in range(1, rounds + 1):
        print(f"round {number} of {rounds}: the service, then pgbench", file=sys.stderr, flush=True)
        figures.alone.append(bench.submit(seconds))
        figures.pgbench.append(bench.pgbench(seconds))
    bench.start_celery()
    for number in range(1, rounds + 1):
        print(f"round {number} of {rounds}: the service with Celery dispatching", file=sys.stderr, flush=True)
        figures.dispatching.append(bench.submit(seconds))
    return figures


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
