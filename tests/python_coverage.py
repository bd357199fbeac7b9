"""Coverage of our Python over a run: the tests' own processes and those of the service, their lines and branches."""

import os
import subprocess
import sys

from tests.services.processes import ROOT

DATA = ROOT / "build" / "coverage" / "data"
MEASURED = ROOT / "tests" / "measured"
COVERAGE = [sys.executable, "-m", "coverage"]


def begin() -> None:
    """Let every Python process that is started from now on measure itself; coverage.py's `.pth` file sees to it."""
    DATA.parent.mkdir(parents=True, exist_ok=True)
    for old in DATA.parent.iterdir():
        old.unlink()
    os.environ["COVERAGE_PROCESS_START"] = str(ROOT / "pyproject.toml")
    os.environ["COVERAGE_FILE"] = str(DATA)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(MEASURED), *filter(None, [os.environ.get("PYTHONPATH")])])


def print_report() -> None:
    """Print each file with its missing lines and branches, and the sum, after all processes have ended."""
    del os.environ["COVERAGE_PROCESS_START"]
    subprocess.run([*COVERAGE, "combine", "--quiet", str(DATA.parent)], cwd=ROOT, check=True)
    subprocess.run([*COVERAGE, "report"], cwd=ROOT, check=True)
