"""The printed report: the conditions, a line for each kind of round, and the processor time of one submission."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tests.load.rounds import CLIENTS, GENERATORS, Bench, Round

FIRST_MARK = 0.12  # of pgbench's rate: what we set out to reach


@dataclass
class Figures:
    """The rounds of each kind, in order."""

    pgbench: list[float] = field(default_factory=list)  # transactions a second
    alone: list[Round] = field(default_factory=list)
    dispatching: list[Round] = field(default_factory=list)

    def ratio(self, rounds: Sequence[Round]) -> float:
        """Return the ratio of the medians: ours to pgbench's."""
        return median(one.load.per_second for one in rounds) / median(self.pgbench)

    def plain(self) -> dict[str, Any]:
        """Return the figures for JSON: rates a second, milliseconds."""
        result: dict[str, Any] = {"pgbench": {"per_second": self.pgbench}}
        for name, rounds in (("alone", self.alone), ("dispatching", self.dispatching)):
            result[name] = {
                "ratio": self.ratio(rounds),
                "per_second": [one.load.per_second for one in rounds],
                "p50_ms": [1000 * one.load.latency(50) for one in rounds],
                "p99_ms": [1000 * one.load.latency(99) for one in rounds],
                "rows": [one.load.requests for one in rounds],
                "dispatched": [one.dispatched for one in rounds],
                "cpu_ms_each": {role: [one.cpu_each(role) for one in rounds] for role in rounds[0].cpu},
            }
        return result


def describe(bench: Bench, seconds: float, rounds: int) -> dict[str, Any]:
    """Return the conditions of the measurement."""
    version, fsync, synchronous_commit = bench.query(
        "SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')"
    )
    return {
        "seconds": seconds,
        "rounds": rounds,
        "clients": CLIENTS,
        "generators": GENERATORS,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "postgresql": version.split()[0],
        "fsync": fsync,
        "synchronous_commit": synchronous_commit,
        "web_processes": int(bench.application.environment["WEB_CONCURRENCY"]),
    }


def tell(figures: Figures, conditions: dict[str, Any]) -> str:
    """Return the table."""
    about = (
        "Submissions through POST /api/submit, and pgbench doing the same look-up and INSERT (protocol simple).\n"
        "{clients} clients each, in turn, {rounds} rounds of {seconds:g} s over an emptied table; the load from "
        "{generators} processes on the same {cores} cores.\n"
        "PostgreSQL {postgresql} with fsync {fsync} and synchronous_commit {synchronous_commit}, "
        "{web_processes} web processes, Python {python}.\n"
    )
    pairs = [one.load.per_second / other for one, other in zip(figures.alone, figures.pgbench, strict=True)]
    lines = [
        about.format(**conditions),
        f"{'':40}{'a second':>9}{'min..max':>16}{'ratio':>8}{'p50 ms':>8}{'p99 ms':>8}{'rows':>9}{'dispatched':>12}",
        f"{'pgbench':40}{_rates(figures.pgbench)}{1:8.3f}",
        _line("the service, web only", figures, figures.alone),
        _line("the service, with Celery dispatching", figures, figures.dispatching),
        "",
        f"Ratio to pgbench {figures.ratio(figures.alone):.3f}, of round pairs {min(pairs):.3f}..{max(pairs):.3f}; "
        f"the first mark is {FIRST_MARK}.",
        f"Processor time of one submission, web only: {_cpu(figures.alone)}.",
        f"The same with Celery dispatching: {_cpu(figures.dispatching)}.",
    ]
    return "\n".join(lines)


def _line(title: str, figures: Figures, rounds: Sequence[Round]) -> str:
    rates = _rates([one.load.per_second for one in rounds])
    p50, p99 = (median(1000 * one.load.latency(percent) for one in rounds) for percent in (50, 99))
    rows = sum(one.load.requests for one in rounds)
    share = sum(one.dispatched for one in rounds) / rows
    return f"{title:40}{rates}{figures.ratio(rounds):8.3f}{p50:8.1f}{p99:8.1f}{rows:9,}{share:12.0%}"


def _rates(rates: Sequence[float]) -> str:
    return f"{median(rates):9,.0f}{f'{min(rates):,.0f}..{max(rates):,.0f}':>16}"


def _cpu(rounds: Sequence[Round]) -> str:
    each = {role: median(one.cpu_each(role) for one in rounds) for role in rounds[0].cpu}
    return ", ".join(f"{role} {milliseconds:.2f} ms" for role, milliseconds in each.items())
