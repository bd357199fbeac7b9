"""Setup of every suite. Fixtures of the suites with a running service are in `tests.services.fixtures`."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.services import fork_server
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
    suites = {item.path.relative_to(here).parts[0] for item in items}
    if "unit" in suites and len(suites) > 1:
        raise pytest.UsageError(f"run one suite at a time, not {', '.join(sorted(suites))}; `make test` runs all")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let the end of an hour, and so of every UTC day, pass between two tests: counts and rows are by hour and day."""
    left = HOUR - time.time() % HOUR
    if left < END_SECONDS:
        let_pass(left)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the processor time of this process and of all that it started and stopped; databases are not among them."""
    seconds = fork_server.close() + sum(os.times()[:4])
    terminalreporter.line(f"{seconds:.0f}{PROCESSOR_TIME}")
