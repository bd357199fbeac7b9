"""`manage.py serve` as an operator meets it: Ctrl-C, SIGHUP, what it refuses, and the files that it makes."""

import os
import pty
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from submissions.models import Submission
from tests.faults import processes
from tests.services.application import Application
from tests.services.client import Client
from tests.services.environment import service_environment
from tests.services.processes import ROOT, free_port
from tests.services.waiting import eventually, let_pass
from tests.support.tenants import make_tenant

SUBMITS = 300
KEPT_CONNECTIONS = 60  # enough for requests before, during and after the process starts to end
LEFT_SECONDS = 1.5  # for which children may survive a killed `serve`; loading Django takes longer
MIGRATED_SECONDS = 240.0  # in which a busy machine has run all migrations
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
    """Return the processes that this one started: `{pid: command line and name}`."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")  # each lists those that it started
    pids = [int(child) for thread in threads for child in thread.read_text().split()]
    commands = {}
    for child in pids:
        commands[child] = processes.command(child)
    return commands


@pytest.mark.on_sqlite
def test_serve__over_a_new_database__keeps_it_to_its_user_and_ends_at_ctrl_c_without_a_complaint(
    tmp_path: Path,
) -> None:
    with terminal(tmp_path) as shown:
        eventually(lambda: "Fieldpost is running" in shown.text, MIGRATED_SECONDS, "it is running")
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
@pytest.mark.parametrize("command", [["check", "--database", "default"], ["migrate"], ["serve", "--no-migrate"]])
def test_command__organization_of_new_people_missing__says_so_and_ends(
    service: Application, command: list[str]
) -> None:
    own = {"OIDC_ORGANIZATION": "acne", "PORT": str(free_port()), "EVENTS_PORT": str(free_port())}
    ended = subprocess.run(
        [*SERVE[:-1], *command],
        cwd=ROOT,
        env=service.environment | own,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert (ended.returncode, "there is no organization 'acne'" in ended.stderr) == (1, True)


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


def are_replaced(pid: int, before: Mapping[int, str]) -> bool:
    """Return whether `serve` has as many children as before, and none of those."""
    now = children_of(pid)
    return len(now) == len(before) and not now.keys() & before.keys()


CHANGING = "from tests.services.settings import *\nSECURITY_CONTACT = {contact!r}\n"


@pytest.mark.on_sqlite
def test_sighup__after_the_code_has_changed__runs_the_new_code_in_every_role(
    tmp_path: Path,
) -> None:
    """The first children are forks, which have loaded the code that was there at the start."""
    contact = tmp_path / "changing_settings.py"
    contact.write_text(CHANGING.format(contact="mailto:old@example.com"))
    environment = service_environment(data_dir=tmp_path, extra={"PYTHONPATH": str(tmp_path)})
    application = Application(environment, tmp_path / "service")
    application.environment["DJANGO_SETTINGS_MODULE"] = "changing_settings"
    with application, Client(application.port) as api:
        pid = application.processes["web"].popen.pid
        before = children_of(pid)
        assert sorted(command.split()[-1] for command in before.values()) == ["deliver", "events", "gunicorn"]
        assert "mailto:old@example.com" in api.get("/.well-known/security.txt").text
        contact.write_text(CHANGING.format(contact="mailto:security.new@example.com"))
        os.kill(pid, signal.SIGHUP)
        eventually(lambda: are_replaced(pid, before), 60, "all are new")
        with Client(application.port) as after:
            assert "mailto:security.new@example.com" in after.get("/.well-known/security.txt").text


@pytest.mark.on_sqlite
def test_serve__each_forked_child_killed__starts_it_again(tmp_path: Path) -> None:
    application = Application(service_environment(data_dir=tmp_path), tmp_path / "service")
    with application:
        pid = application.processes["web"].popen.pid
        before = children_of(pid)
        for child in before:
            os.kill(child, signal.SIGKILL)
        eventually(lambda: are_replaced(pid, before), 60, "all are new")
        eventually(application.is_ready, 60, "they answer")


class KeptConnection:
    """A connection that has been used and is kept open."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        assert b"200 OK" in self.ask()

    def ask(self) -> bytes:
        """Return the head of an answer and the start of its body, empty if the connection was ended instead."""
        self._socket.sendall(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        return self._socket.recv(65_536)

    def is_ended(self) -> bool:
        """Return whether the service has closed its half, so that a client opens another connection."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def close(self) -> None:
        self._socket.close()


def answers_while_it_ends(application: Application) -> list[bytes]:
    """Ask a web process to end, and ask for a page on one kept connection after another until all have ended."""
    kept = [KeptConnection(application.port) for _ in range(KEPT_CONNECTIONS)]
    os.kill(application.processes["web"].popen.pid, signal.SIGTERM)
    answers = []
    for connection in kept:
        if not connection.is_ended():
            answers.append(connection.ask())
            let_pass(0.005)
        connection.close()
    return answers


@pytest.mark.on_sqlite
def test_web_process__asked_to_end__answers_on_kept_connections_and_says_that_it_closes_them(
    start_service: Callable[..., Application],
) -> None:
    """A close of idle connections would reset those on which a request is on its way."""
    for _ in range(5):  # a busy machine may pass over the 0.3 s for which a process says so
        answers = answers_while_it_ends(start_service())
        # It then closes its half of all at one moment: one request at most is sent between a check and that.
        assert answers.count(b"") <= 1
        assert all(answer.startswith(b"HTTP/1.1 200 OK") for answer in answers if answer)
        if any(b"connection: close" in answer.lower() for answer in answers):
            return
    pytest.fail("no answer said that the connection is closed")


def is_running(pid: int) -> bool:
    """Return whether a process exists and is no zombie, which nobody may collect here."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.on_sqlite
def test_serve__killed_while_it_starts__leaves_no_child_and_starts_again(tmp_path: Path) -> None:
    """A child that has not loaded Django yet must end too: it holds the port."""
    application = Application(service_environment(data_dir=tmp_path), tmp_path / "service", migrates=False)
    application.directory.mkdir()
    application.migrate()
    for seconds in (0.0, 0.4):  # for which the children load Django
        serve = application.start_role("web").popen
        eventually(lambda: len(children_of(serve.pid)) == 3, 60, "it starts its children")  # noqa: B023 - runs now
        let_pass(seconds)
        children = children_of(serve.pid)
        os.kill(serve.pid, signal.SIGKILL)
        eventually(lambda: not any(map(is_running, children)), LEFT_SECONDS, "they end")  # noqa: B023 - runs now
        serve.wait()
    with application:
        assert application.is_ready()
