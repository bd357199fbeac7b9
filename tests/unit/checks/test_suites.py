"""Every test belongs to a suite: one in a folder that none takes would never run, and nobody would see it."""

from tests.services.processes import ROOT
from tests.suites import SUITES


def test_tests__in_any_folder__are_in_a_suite() -> None:
    taken = {path for suite in SUITES for each in suite.directories for path in (ROOT / each).rglob("test_*.py")}
    left_out = set((ROOT / "tests").rglob("test_*.py")) - taken
    assert {str(path.relative_to(ROOT)) for path in left_out} == set()
