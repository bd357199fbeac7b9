"""Which branches of forms.js the tests of this session ran: the source with istanbul's counters, and their sum."""

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from forms_app.script.builds import BUILDS, CURRENT, SOURCES, integrity
from tests.services.processes import ROOT

TOOLS = ROOT / "build" / "node"  # `make test` installs them there


def instrumented_source() -> str:
    """Return forms.js with counters; the constants that a build fills in come before it."""
    file = json.loads(CURRENT.read_text())["forms.more.js"]["file"]
    checked = integrity((BUILDS / file).read_bytes(), "sha256")
    constants = f"const MORE_FILE = {json.dumps(file)}, MORE_INTEGRITY = {json.dumps(checked)};"
    command = ["node", str(Path(__file__).with_name("instrument.mjs"))]
    source = (SOURCES / "forms.js").read_text()
    done = subprocess.run(command, cwd=TOOLS, input=source, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"run `make build/node/.installed` first: {done.stderr}"
    return f"(() => {{ {constants} {done.stdout} }})();"


class BranchCoverage:
    def __init__(self) -> None:
        self.taken: Counter[tuple[str, int]] = Counter()  # (branch, arm) -> times
        self.lines: dict[str, int] = {}

    def add(self, coverage: dict[str, Any] | None) -> None:
        """Take over one page's `window.__coverage__`."""
        for file in (coverage or {}).values():
            for branch, arms in file["b"].items():
                self.lines[branch] = file["branchMap"][branch]["loc"]["start"]["line"]
                for arm, times in enumerate(arms):
                    self.taken[branch, arm] += times

    @property
    def percent(self) -> float:
        return 100 * sum(1 for times in self.taken.values() if times) / len(self.taken) if self.taken else 0.0

    def missing(self) -> list[str]:
        """Return the arms that no test took, as `line 12, arm 1`."""
        return [f"line {self.lines[branch]}, arm {arm}" for (branch, arm), times in self.taken.items() if not times]
