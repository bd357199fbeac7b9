"""Programs that start as forks are what an exec would make of the same command line."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services.fork_server import PACKAGES, can_fork
from tests.services.processes import Process

REPORT = """
import json, os, sys
files = sorted(int(name) for name in os.listdir("/proc/self/fd"))
print(json.dumps({
    "name": __name__, "arguments": sys.argv, "environment": sorted(os.environ), "here": os.getcwd(),
    "leads": os.getsid(0) == os.getpgid(0) == os.getpid(), "files": files[:-1], "path": sys.path[0],
    "stdin": sys.stdin.read(), "group": os.getpgid(0) == os.getppid(),
}))
sys.exit(3)
"""
PATIENCE = 60.0


def report_of(script: Path, *, forks: bool) -> dict[str, object]:
    log = script.with_name(f"log-{forks}")
    environment = {**os.environ, "OF_THIS_TEST": "1"}
    reading, writing = os.pipe()
    try:
        command: list[str | Path] = [sys.executable, script, "--option"]
        process = Process("report", command, log=log, env=environment, cwd=script.parent, files=[writing], forks=forks)
        assert process.popen.wait(PATIENCE) == 3
    finally:
        os.close(reading)
        os.close(writing)
    report: dict[str, object] = json.loads(log.read_text())
    return report


def test_fork__of_a_script__is_as_an_exec_makes_it(tmp_path: Path) -> None:
    script = tmp_path / "report.py"
    script.write_text(REPORT)
    assert report_of(script, forks=True) == report_of(script, forks=False)


def test_fork__that_is_killed__has_the_signal_as_its_status(tmp_path: Path) -> None:
    script = tmp_path / "sleeper.py"
    script.write_text("import time\ntime.sleep(600)\n")
    process = Process("sleeper", [sys.executable, script], log=tmp_path / "log", env=dict(os.environ), forks=True)
    assert process.running
    process.kill()
    assert process.popen.returncode == -signal.SIGKILL


def test_fork__that_raises__prints_it_and_has_status_1(tmp_path: Path) -> None:
    script, log = tmp_path / "raises.py", tmp_path / "log"
    script.write_text("raise ValueError('seen')\n")
    process = Process("raises", [sys.executable, script], log=log, env=dict(os.environ), forks=True)
    assert process.popen.wait(PATIENCE) == 1
    assert "ValueError: seen" in log.read_text()


def test_packages__imported_before_the_fork__bring_nothing_of_ours_and_no_settings() -> None:
    program = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
from django.conf import settings
ours = {"config", "keys", "forms_app", "submissions", "webhooks", "dashboard"}
sys.exit(settings.configured or bool(ours & {name.partition(".")[0] for name in sys.modules}))
"""
    assert subprocess.run([sys.executable, "-c", program, *PACKAGES]).returncode == 0


@pytest.mark.parametrize("name", ["COVERAGE_PROCESS_START", "PYTHONWARNINGS", "PYTHONPATH", "LD_PRELOAD"])
def test_variable__that_is_read_as_a_program_starts__asks_for_an_exec(name: str) -> None:
    assert can_fork(dict(os.environ))
    assert not can_fork({**os.environ, name: "something else"})
