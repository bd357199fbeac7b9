"""The first change of CONTRIBUTING.md, done as it says in a copy of the tree."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.checks.sources import ROOT
from tests.services.environment import for_tests

SECTION = (ROOT / "CONTRIBUTING.md").read_text().partition("\n## ")[2].partition("\n## ")[0]
STEPS = re.findall(r"^```(\w+)\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
SAVED = iter(re.findall(r"Save (?:it|the change) as `([\w./]+)`", SECTION))
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build", "data", "node_modules", "__pycache__", ".*_cache")


@pytest.mark.slow
@pytest.mark.on_sqlite
def test_first_change__as_contributing_says__makes_its_test_pass(tmp_path: Path) -> None:
    tree, results = tmp_path / "fieldpost", []
    shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
    (tree / ".venv").symlink_to(ROOT / ".venv")
    shell = {name: value for name, value in for_tests(os.environ).items() if not name.startswith("FIELDPOST_")}
    for language, text in STEPS:
        if language == "sh":
            done = subprocess.run(text, shell=True, cwd=tree, env=shell, capture_output=True, text=True)
            results.append((done.returncode, done.stdout + done.stderr))
        else:
            (tree / next(SAVED)).write_text(text)
    codes = [code for code, _ in results]
    assert codes == [1, 0, 0], results[-1]
    assert "4 failed" in results[0][1]
    assert "4 passed" in results[2][1]
