"""The services that the faults of this suite share, and one result line for each."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults import report
from tests.faults.case import FAULTS, Worlds, run_fault
from tests.faults.run import load

SEED = 7


@pytest.fixture(scope="session")
def worlds() -> Iterator[Worlds]:
    load()
    with tempfile.TemporaryDirectory(prefix="fieldpost-faults-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)  # PostgreSQL, with its own user, has its data below it
        shared = Worlds(Path(name))
        try:
            yield shared
        finally:
            shared.close()


@pytest.fixture
def holds(worlds: Worlds, backend: str) -> Callable[[str], None]:
    """Return a function that runs a fault on the suite's database, and asserts that every promise held."""

    def check(fault: str) -> None:
        result = run_fault(FAULTS[fault], backend, SEED, worlds, quick=True)
        print(report.line(result))
        assert not result.broken, "\n".join([report.line(result), *result.notes])

    return check
