"""
`make faults`: every fault on each database that it applies to, one line each. The exit status is 1 if one fails.

Both databases go side by side, each in its own process: most of the time a fault waits. So that they end at about the
same time, and under half an hour, the lines of the two are mixed; the table is in order.

    python -m tests.faults.run                              all faults
    python -m tests.faults.run --only F1,F5 --seed 7        these, with the random choices of this seed
    python -m tests.faults.run --database sqlite            on one database
    python -m tests.faults.run --kills 200                  one run with that many kills of every kind
    python -m tests.faults.run --markdown                   print the table of docs/delivery.md at the end
"""

import argparse
import importlib
import pickle
import pkgutil
import random
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.faults import cases, many_kills, report
from tests.faults.case import BOTH, FAULTS, Result, Worlds, run_fault
from tests.services.packages import ensure
from tests.services.processes import Process

STOP_SECONDS = 60.0  # for a process to stop all that it started
PROGRAMS = ("postgres", "redis-server", "faketime", "unshare")


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: stops everything that it started
    load()
    if options.kills:
        many_kills.register(options.kills)
        options.only = options.only or many_kills.ID
    chosen = options.only.split(",") if options.only else list(FAULTS)
    if unknown := set(chosen) - set(FAULTS):
        raise SystemExit(f"no such fault: {', '.join(sorted(unknown))}; there are {', '.join(FAULTS)}")
    ensure(PROGRAMS)
    databases = [options.only_database] if options.only_database else options.database or BOTH
    if len(databases) > 1 and not options.kills:
        results = run_side_by_side(arguments, databases, options.seed)
    else:  # hundreds of kills keep all cores busy: next to another run of them, recovery takes three times as long
        results = [one for each in databases for one in run(chosen, each, options.seed, quick=options.quick)]
    if options.results:
        options.results.write_bytes(pickle.dumps(results))
        return 0
    if options.markdown and results:
        print(report.markdown(results))
    failed = sum(not result.passed for result in results)
    print(f"{len(results) - failed} passed, {failed} failed", flush=True)
    return 1 if failed or not results else 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.run", description="Break it; see tests/faults/run.py."
    )
    parser.add_argument("--only", metavar="F1,F5", help="these faults")
    parser.add_argument("--database", action="append", choices=BOTH, help="only on this one")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000), help="of all random choices")
    parser.add_argument("--kills", type=int, metavar="N", help="one run with so many kills of every kind")
    parser.add_argument("--quick", action="store_true", help="as short as in `make test`")
    parser.add_argument("--markdown", action="store_true", help="print a table at the end")
    parser.add_argument("--only-database", choices=BOTH, help=argparse.SUPPRESS)  # of a process of `run_side_by_side`
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the results there, for another process")
    return parser.parse_args(arguments)


def load() -> None:
    """Import the modules of the cases, each of which registers its faults; order them by number."""
    for module in pkgutil.iter_modules(cases.__path__):
        importlib.import_module(f"{cases.__name__}.{module.name}")
    ordered = sorted(FAULTS.items(), key=lambda item: int(item[0].lstrip("F")))
    FAULTS.clear()
    FAULTS.update(ordered)


def run(chosen: Sequence[str], backend: str, seed: int, *, quick: bool) -> list[Result]:
    """Run each fault that applies to the database."""
    results = []
    with tempfile.TemporaryDirectory(prefix="fieldpost-faults-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)  # PostgreSQL, with its own user, has its data below it
        worlds = Worlds(Path(name))
        try:
            for one in [FAULTS[name] for name in chosen if backend in FAULTS[name].databases]:
                results.append(run_fault(one, backend, seed, worlds, quick=quick))
                print(report.line(results[-1]), flush=True)
        finally:
            worlds.close()
    return results


def run_side_by_side(arguments: Sequence[str], databases: Sequence[str], seed: int) -> list[Result]:
    """Run ourselves for each database at the same time, and return the results of all, database by database."""
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="fieldpost-faults-results-") as name, ExitStack() as stack:
        started = []
        for backend in databases:
            file = Path(name) / backend
            command = [sys.executable, "-m", "tests.faults.run", *arguments, "--seed", str(seed)]
            own = Process(f"faults {backend}", [*command, f"--only-database={backend}", f"--results={file}"], log=None)
            stack.callback(own.stop, patience=STOP_SECONDS)
            started.append((own, file))
        for own, file in started:
            own.popen.wait()
            if not file.exists():
                raise SystemExit(f"{own.name} ended without results")
            results += pickle.loads(file.read_bytes())
    return results


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
