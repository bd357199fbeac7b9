"""
`make faults`: submissions while other clients are slow, compared with quiet rounds of the same run.

`serve` runs with its defaults: all roles, SQLite, no proxy. In every other round 200 exports are never read, 200 bodies
stay at their first byte, and 2,000 heads are never finished. Fails if p99 of a submit is then more than MAX_RATIO times
that of the quiet rounds, or if `/healthz` takes more than a second.

    python -m tests.load.faults [--seconds 5] [--rounds 3]
"""

import argparse
import json
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.load.client import Load, drive, post_bytes
from tests.load.request import BODY
from tests.load.slow_peers import slow_peers
from tests.services.application import Application, answers
from tests.services.environment import service_environment

CLIENTS = 4
MAX_RATIO = 3.0
MAX_HEALTH_SECONDS = 1.0
EXPORTS, BODIES, HEADS = 200, 200, 2_000
_ARRANGE = "from tests.load import arrangement; arrangement.main()"
_FILL = "from tests.load import arrangement; arrangement.fill(rows=160, characters=50_000)"  # 8 MB: no socket holds it


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.load.faults", description="Measure; see tests/load/faults.py."
    )
    parser.add_argument("--seconds", type=float, default=5, help="length of a round (5)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each kind, in turn (3)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: stops everything that it started
    with tempfile.TemporaryDirectory(prefix="fieldpost-faults-", ignore_cleanup_errors=True) as name:
        environment = service_environment(data_dir=Path(name))
        with Application(environment, Path(name) / "service") as application:
            return measure(application, options.seconds, options.rounds)


def measure(application: Application, seconds: float, rounds: int) -> int:
    """Print the figures. Return 1 if one is over its bound, else 0."""
    arranged = json.loads(application.manage("shell", "--verbosity", "0", "--command", _ARRANGE))
    application.manage("shell", "--verbosity", "0", "--command", _FILL)
    path = f"/api/submit?formId={arranged['form_id']}"
    request = post_bytes(application.port, path, arranged["key"], BODY)
    quiet: list[Load] = []
    slow: list[Load] = []
    health: list[float] = []
    submit(application.port, request, 1)
    for _ in range(rounds):
        quiet.append(submit(application.port, request, seconds))
        with slow_peers(application.port) as peers:
            peers.exports(EXPORTS, arranged["key"])
            peers.bodies(BODIES, path, f"x-access-key: {arranged['key']}\r\n")
            peers.heads(HEADS)
            slow.append(submit(application.port, request, seconds))
            health.append(health_seconds(application.port))
    ratio = p99(slow) / p99(quiet)
    print(f"submit, {CLIENTS} clients, {rounds} rounds of {seconds:g} s each; medians")
    for title, loads in (("quiet", quiet), (f"with {EXPORTS + BODIES + HEADS:,} slow clients", slow)):
        per_second = statistics.median(load.per_second for load in loads)
        print(f"  {title:28} p99 {1000 * p99(loads):7.1f} ms  {per_second:6.0f} a second")
    print(f"  ratio of p99 {ratio:.2f} (at most {MAX_RATIO:g}); /healthz {max(health):.3f} s at most")
    return int(ratio > MAX_RATIO or max(health) > MAX_HEALTH_SECONDS)


def submit(port: int, request: bytes, seconds: float) -> Load:
    return drive(port, request, clients=CLIENTS, processes=1, seconds=seconds)


def p99(loads: Sequence[Load]) -> float:
    return statistics.median(load.latency(99) for load in loads)


def health_seconds(port: int) -> float:
    """Return how long `/healthz` took."""
    start = time.perf_counter()
    assert answers(port, "/healthz")
    return time.perf_counter() - start


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
