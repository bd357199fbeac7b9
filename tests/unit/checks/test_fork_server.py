"""Programs that start as forks are what an exec would make of the same command line."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services.fork_server import PACKAGES, Forked, can_fork
from tests.services.processes import ROOT, Process
from tests.services.waiting import eventually

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
RUN = """
import os, sys
from pathlib import Path
from tests.services.fork_server import serving, start
with serving(Path(sys.argv[1]), os.environ):
    start([sys.argv[2]], os.environ, Path.cwd(), {0: 0, 1: 1, 2: 2}).wait()
    print("started", flush=True)
    sys.stdin.read()
"""
LOAD = """
import json, sys
from importlib import import_module
for name in sys.argv[1:]:
    import_module(name)
import django
from django.conf import settings
from django.utils.module_loading import import_string
django.setup()
import_module(settings.ROOT_URLCONF)
for middleware in settings.MIDDLEWARE:
    import_string(middleware)
ours = {"config", "keys", "forms_app", "submissions", "webhooks", "dashboard", "__main__", "__mp_main__"}
print(json.dumps({
    module: {name: type(value).__name__ for name, value in vars(loaded).items() if not name.startswith("__")}
    for module, loaded in sys.modules.items() if module.partition(".")[0] not in ours
}))
"""


def report_of(script: Path, *, forks: bool) -> dict[str, object]:
    log = script.with_name(f"log-{forks}")
    environment = {**os.environ, "OF_THIS_TEST": "1"}
    reading, writing = os.pipe()
    try:
        command: list[str | Path] = [sys.executable, script, "--option"]
        process = Process("report", command, log=log, env=environment, cwd=script.parent, files=[writing], forks=forks)
        assert isinstance(process.popen, Forked) == forks
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


def globals_with(*preloaded: str) -> dict[str, dict[str, str]]:
    """Return the names in each package of others, with their types, after the project was loaded behind these."""
    command = [sys.executable, "-c", LOAD, *preloaded]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.services.settings"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    loaded: dict[str, dict[str, str]] = json.loads(done.stdout)
    return loaded


@pytest.mark.on_sqlite
def test_packages__imported_before_settings__are_what_they_are_behind_them() -> None:
    """A package may catch that there are no settings, and leave something out permanently."""
    plain, early = globals_with(), globals_with(*PACKAGES)
    assert plain.keys() <= early.keys()
    assert {
        (module, name): early[module].get(name)
        for module, names in plain.items()
        for name, kind in names.items()
        if early[module].get(name) != kind
    } == {}


@pytest.mark.on_sqlite
def test_server_of_a_run__killed_run__ends_too(tmp_path: Path) -> None:
    script, place = tmp_path / "program.py", tmp_path / "socket"
    script.write_text("print('forked', flush=True)\n")
    command = [sys.executable, "-c", RUN, str(place), str(script)]
    run = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert [run.stdout.readline(), run.stdout.readline()] == ["forked\n", "started\n"]
    run.kill()
    run.communicate()
    eventually(lambda: not is_served(place), PATIENCE, "the server has ended")


def is_served(place: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
        return asking.connect_ex(str(place)) == 0


@pytest.mark.parametrize("name", ["COVERAGE_PROCESS_START", "PYTHONWARNINGS", "PYTHONPATH", "LD_PRELOAD"])
def test_variable__that_is_read_as_a_program_starts__asks_for_an_exec(name: str) -> None:
    assert can_fork(dict(os.environ))
    assert not can_fork({**os.environ, name: "something else"})
