"""Setup of every suite. Fixtures of the suites with a running service are in `tests.services.fixtures`."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.load.cpu import tree_seconds
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL, SQLITE
from tests.services.packages import PACKAGES, advice
from tests.services.waiting import let_pass
from tests.suites import PROCESSOR_TIME

pytest_plugins = ["tests.services.fixtures"]

HOUR = 3600.0
END_SECONDS = 5.0  # of an hour, in which no test begins

# By default SIGTERM ends Python immediately and leaves the started services behind; as Ctrl-C it lets fixtures end.
signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Unit tests have a test database, the other suites a service's own: one process cannot be both."""
    here = Path(__file__).parent
    suites = {item.path.relative_to(here).parts[0] for item in items if item.path.is_relative_to(here)}
    if "unit" in suites and len(suites) > 1:
        raise pytest.UsageError(f"run one suite at a time, not {', '.join(sorted(suites))}; `make test` runs all")


def pytest_exception_interact(call: pytest.CallInfo[object], report: pytest.TestReport) -> None:
    """Say how to get a program that a test could not start."""
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, FileNotFoundError) and (name := str(error.filename)):
        if name in PACKAGES:
            report.sections.append(("a program is missing", advice(name)))
        elif "build/node/" in name:
            report.sections.append(("JavaScript tools are missing", "Run `make build/node/.installed` first."))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let the end of an hour, and so of every UTC day, pass between two tests: counts and rows are by hour and day."""
    left = HOUR - time.time() % HOUR
    if left < END_SECONDS:
        let_pass(left)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    """Print the line to type where nothing ran, and the processor time of this process and of all that it started."""
    path = Path(config.args[0].partition("::")[0])
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and path.suffix == ".py" and path.is_file():
        backend = os.environ[BACKEND_VARIABLE]
        other = POSTGRESQL if backend == SQLITE else SQLITE
        suite = f"{path.resolve().relative_to(Path(__file__).parent).parts[0]}-{other}"
        terminalreporter.line(f"Nothing on {backend}. Try: .venv/bin/python -m tests.run --only {suite} -k {path.stem}")
    terminalreporter.line(f"{tree_seconds(os.getpid()):.0f}{PROCESSOR_TIME}")
