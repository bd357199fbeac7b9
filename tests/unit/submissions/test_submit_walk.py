"""The way of one post through our files, from the socket to the row, is traced and bounded (`tests.load`)."""

import subprocess
import sys

import pytest

from tests.load.trace_submit import Bound, Trace
from tests.services.processes import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.on_sqlite]

GATES, INSERT, TEXT = "submissions/receiving/gates.py", "submissions/receiving/insert.py", "config/base/text.py"


def test_post__from_socket_to_row__enters_few_files_and_none_again_and_again() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.load.trace_submit"]

    traced = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)

    assert traced.returncode == 0, traced.stdout + traced.stderr
    assert "submissions/receiving/insert.py: store" in traced.stdout


def walk(*files: str) -> Trace:
    return Trace(entered=[(name, "function", 0) for name in files])


def test_trace__over_a_bound__says_so() -> None:
    bound = Bound(files=1, returns=1)

    assert walk(GATES, TEXT, GATES, TEXT, TEXT).problems(bound) == []
    assert walk(GATES, INSERT).problems(bound) == ["2 files"]
    assert walk(GATES, INSERT, GATES, GATES).problems(Bound(files=2, returns=1)) == [f"{GATES}: returned to 2 times"]
