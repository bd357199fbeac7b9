"""`manage.py serve` as an operator meets it: Ctrl-C, SIGHUP, what it refuses, and the files that it makes."""

import os
import pty
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.services.environment import service_environment
from tests.services.processes import ROOT
from tests.services.waiting import eventually
from tests.support.tenants import make_tenant

SUBMITS = 300
SERVE = [sys.executable, "manage.py", "serve"]


class Terminal:
    """`serve` in a terminal. `text`: its output so far."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self.text = ""
        # setsid makes the pseudo-terminal its controlling one, so that ^C becomes a signal.
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *SERVE],
            cwd=ROOT,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError):  # the other end is closed
            while part := os.read(self._ours, 4096):
                self.text += part.decode(errors="replace")

    def type(self, keys: bytes) -> None:
        os.write(self._ours, keys)


@contextmanager
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(service_environment(data_dir=tmp_path))
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()


def children_of(pid: int) -> dict[int, str]:
    """Return the processes that this one started: `{pid: command}`."""
    pids = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return {pid: Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in pids}


@pytest.mark.on_sqlite
def test_serve__over_a_new_database__keeps_it_to_its_user_and_ends_at_ctrl_c_without_a_complaint(
    tmp_path: Path,
) -> None:
    with terminal(tmp_path) as shown:
        eventually(lambda: "Fieldpost is running" in shown.text, 60, "it is running")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("fieldpost.sqlite3*")}
        assert modes["fieldpost.sqlite3"] == 0o600
        assert set(modes.values()) == {0o600}
        before = len(shown.text)
        shown.type(b"\x03")
        assert shown.process.wait(15) == 0
        assert not any(word in shown.text[before:] for word in ("panic", "Traceback", "Error", "Kill"))


@pytest.mark.on_sqlite
@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1"])
def test_serve__demo_on_another_host_than_loopback__does_not_start(tmp_path: Path, host: str) -> None:
    environment = service_environment(data_dir=tmp_path, extra={"DEMO": "1"})
    ended = subprocess.run(
        [*SERVE, "--host", host], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert f"DEMO is on, and {host} " in ended.stderr


@pytest.mark.on_sqlite
def test_serve__port_taken__says_so_and_ends(service: Application, tmp_path: Path) -> None:
    taken = {"PORT": service.environment["PORT"]}
    environment = service_environment(data_dir=tmp_path, extra=taken)
    ended = subprocess.run(SERVE, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert f"Cannot listen on 127.0.0.1:{service.port}" in ended.stderr


@pytest.mark.on_sqlite  # with a deliverer; on PostgreSQL that is Celery's
def test_sighup__under_load__replaces_every_child_and_loses_no_submission(
    start_service: Callable[..., Application],
) -> None:
    application = start_service("serve", delivers=True)
    pid = application.processes["web"].popen.pid
    tenant, before = make_tenant(), children_of(pid)
    statuses: list[int] = []

    def submit() -> None:
        with Client(application.port) as api:
            while len(statuses) < SUBMITS or before.keys() & children_of(pid).keys():
                statuses.append(api.post("/api/submit", tenant.key, json={"a": "1"}).status)

    senders = [threading.Thread(target=submit) for _ in range(4)]
    for sender in senders:
        sender.start()
    os.kill(pid, signal.SIGHUP)
    for sender in senders:
        sender.join(60)
    after = eventually(lambda: (now := children_of(pid)) and len(now) == len(before) and now, 30, "all are running")
    assert set(statuses) == {201}
    assert Submission.objects.filter(organization=tenant.organization).count() == len(statuses)
    assert not before.keys() & after.keys()
