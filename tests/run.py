"""
`make test`: every suite against real parts. The last line is the sum, and the exit status is 0 only if all passed.

    python -m tests.run                                    all suites
    python -m tests.run --quick                            the tests that finish within 90 s
    python -m tests.run --only api-sqlite -x -k submit     one suite; other options go to pytest
"""

import argparse
import compileall
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

from tests import python_coverage
from tests.services.backing import Backing, backing_services, programs_needed
from tests.services.environment import MIGRATED_VARIABLE, POSTGRESQL, SQLITE
from tests.services.packages import ensure
from tests.services.processes import ROOT
from tests.suites import BY_NAME, QUICK, SUITES, Result, Runner, Suite, exists

PACKAGES = ("config", "keys", "forms_app", "submissions", "webhooks", "dashboard")
LANES = 4  # twice the processors: suites wait for mails, retries and time-outs for two fifths of their time
# Published clients of other services and generated ones run against ours; certificates for the TLS tests.
ALL_SUITES_PROGRAMS = ("node", "npm", "java", "openssl")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.run", description="Run the tests; see tests/run.py.")
    names = [suite.name for suite in SUITES + BY_NAME]
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"one of: {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="only the unit suite and a part of the api suite")
    parser.add_argument("--coverage", action="store_true", help="measure our Python; the suites on SQLite by default")
    options, for_pytest = parser.parse_known_args(arguments)

    if options.quick:
        chosen = list(QUICK)
    elif options.coverage and not options.only:
        chosen = [suite for suite in SUITES if suite.backend == SQLITE]
    elif options.only:
        chosen = [suite for suite in SUITES + BY_NAME if suite.name in options.only]
    else:
        chosen = [suite for suite in SUITES if exists(suite)]
    ensure(_programs(chosen, all_suites=len(chosen) == len(SUITES)))
    if options.coverage:
        python_coverage.begin()
    results = _run(chosen, for_pytest)
    if options.coverage:
        python_coverage.print_report()
    for result in results:
        print("\n".join([result.line(), *result.failed_tests]))
    passed, failed = sum(result.passed for result in results), sum(result.failures for result in results)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not results else 0


def _programs(suites: Sequence[Suite], *, all_suites: bool) -> list[str]:
    programs = [program for suite in suites for program in suite.programs]
    if any(suite.backend == POSTGRESQL for suite in suites):
        programs += programs_needed()
    return [*programs, *ALL_SUITES_PROGRAMS] if all_suites else programs


def _run(suites: Sequence[Suite], for_pytest: Sequence[str]) -> list[Result]:
    """All results, in order. Whatever happens, Ctrl-C and SIGTERM too, everything that was started is stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    live = len(suites) == 1
    results = []
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="fieldpost-migrated-"))
        os.environ[MIGRATED_VARIABLE] = directory
        _compile()
        backing = _start_backing(stack) if any(suite.backend == POSTGRESQL for suite in suites) else None
        runner = Runner(backing, for_pytest, live=live)
        lanes = stack.enter_context(ThreadPoolExecutor(LANES))
        stack.callback(runner.close)  # before the lanes are waited for
        stack.callback(signal.signal, signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not cut this short
        for result in _in_order(runner, lanes, suites):
            if not live:
                print(f"\n{'=' * 20} {result.title} {'=' * 20}\n{result.output}", flush=True)
            results.append(result)
    return results


def _compile() -> None:
    """Compile our modules once; in a fresh clone, the first processes of four suites would all do it."""
    for package in PACKAGES:
        compileall.compile_dir(ROOT / package, quiet=2)


def _start_backing(stack: ExitStack) -> Backing:
    start = time.monotonic()
    backing = stack.enter_context(backing_services())
    print(f"PostgreSQL and Redis are ready after {time.monotonic() - start:.1f} s", flush=True)
    return backing


def _in_order(runner: Runner, lanes: ThreadPoolExecutor, suites: Sequence[Suite]) -> Iterator[Result]:
    """The suites go several at a time; the results come in the order of the suites."""
    together: list[Future[Result]] = [
        lanes.submit(runner.run, suite) for suite in SUITES + BY_NAME + QUICK if suite in suites
    ]
    for future in together:
        yield future.result()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
