"""Jobs in their own processes: their parts, their errors and their ends."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from multiprocessing import forkserver
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError

from config.supervision.jobs import AUTOGROUP, JobEnded, Parts, preload, run
from tests.faults import processes
from tests.services.processes import ROOT
from tests.services.waiting import eventually, let_pass

pytestmark = pytest.mark.slow

SOON = 20  # seconds
LARGE = 3_000_000  # bytes: more than a socket holds
# Starts a job, prints the pids of its children and of the job, and ends once its input does.
ENDING = """
import os, sys
import django
django.setup()
from config.supervision.jobs import preload, run
from tests.faults import processes
from tests.unit.config.test_jobs import waits

preload()
parts = run(waits, 600)
job = next(part[1] for part in parts if part[0])
print(job, *processes.tree(os.getpid()), flush=True)
sys.stdin.read()
os._exit(0)
"""


def two_parts(first: bytes) -> Parts:
    yield first, 1
    yield b"x" * LARGE, {"pid": os.getpid(), "priority": priority(), "session": os.getsid(0)}


def priority() -> tuple[int, str]:
    """Return the niceness of this process, and that of its session where Linux has one."""
    return os.nice(0), AUTOGROUP.read_text().partition(" ")[2].strip() if AUTOGROUP.exists() else ""


def begins_and_fails(error: str) -> Parts:
    yield b"first", 1
    raise ERRORS[error] from ValueError("the cause")


class Odd(Exception):
    """Cannot be pickled as it is."""

    def __init__(self) -> None:
        super().__init__("odd", 1)


ERRORS = {"known": OperationalError("the message"), "odd": Odd()}


def waits(for_seconds: float) -> Parts:
    yield b"first", os.getpid()
    let_pass(for_seconds)
    yield b"second", 2


def leaves_a_mark(path: str) -> Parts:
    try:
        yield b"first", os.getpid()
        threading.Event().wait()
    finally:
        Path(path).write_text("cleaned up")


def misses_a_signal(path: str) -> Parts:
    abandon = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: signal.signal(signal.SIGTERM, abandon))
    yield from leaves_a_mark(path)


@pytest.fixture(autouse=True)
def _environment_of_a_web_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", settings.SETTINGS_MODULE)
    preload(__name__)


def texts(parts: Parts) -> list[bytes]:
    return [text for text, _ in parts if text]


def first_pid(parts: Parts) -> int:
    """Return the value of the first part that is not empty."""
    return next(int(value) for text, value in parts if text)


def server() -> int:
    """Return the process that forks for each job."""
    forkserver.ensure_running()
    (pid,) = (pid for pid in processes.children(os.getpid()) if "forkserver" in processes.command(pid))
    return pid


def test_job__with_large_parts__returns_them_from_another_process_with_less_priority() -> None:
    (first, one), (second, about) = [part for part in run(two_parts, b"begin") if part[0]]
    assert (first, one, second) == (b"begin", 1, b"x" * LARGE)
    assert about["pid"] != os.getpid()
    assert about["session"] != os.getsid(0)
    niceness, of_session = priority()
    assert about["priority"] == (niceness + 10, of_session and "nice 10")


@pytest.mark.parametrize(
    ("error", "kind", "text", "cause"),
    [("known", OperationalError, "the message", ValueError), ("odd", RuntimeError, "Odd", None)],
)
def test_job__that_fails__raises_its_error_with_cause_and_traceback(
    error: str, kind: type[Exception], text: str, cause: type[Exception] | None
) -> None:
    parts = run(begins_and_fails, error)
    with pytest.raises(kind) as raised:
        texts(parts)
    said = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", [])])
    assert text in said
    assert "in begins_and_fails" in said
    assert type(raised.value.__cause__) is (cause or type(None))


def test_job__without_a_part_for_a_while__yields_empty_ones() -> None:
    found = [text for text, _ in run(waits, 1.2)]
    assert [text for text in found if text] == [b"first", b"second"]
    assert b"" in found


def test_job__that_is_killed__raises_an_error() -> None:
    parts = run(waits, 600)
    processes.kill(first_pid(parts))
    with pytest.raises(JobEnded):
        texts(parts)
    assert texts(run(waits, 0)) == [b"first", b"second"]


@pytest.mark.parametrize("function", [leaves_a_mark, misses_a_signal])
def test_job__whose_parts_are_closed_while_it_waits__cleans_up_and_ends(
    function: Callable[[str], Parts], tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    with closing(run(function, str(mark))) as parts:
        pid = first_pid(parts)
    assert not processes.is_alive(pid)
    assert mark.read_text() == "cleaned up"


def test_jobs__that_have_ended__leave_no_process_and_no_descriptor() -> None:
    def count() -> list[int]:
        files = [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in (os.getpid(), server())]
        return [*files, len(Path(f"/proc/{server()}/task/{server()}/children").read_text().split())]

    texts(run(waits, 0))
    before = eventually(lambda: (now := count())[-1] == 0 and now)
    for _ in range(5):
        texts(run(waits, 0))
        with closing(run(waits, 600)) as parts:
            first_pid(parts)
    # Not the same number: what other tests have left open may be collected meanwhile.
    eventually(lambda: all(now <= then for now, then in zip(count(), before, strict=True)), SOON, "all have ended")


def test_server__that_was_killed__is_started_again_and_cuts_no_job() -> None:
    parts = run(waits, 1)
    first_pid(parts)
    killed = server()
    processes.kill(killed)
    eventually(lambda: not processes.is_alive(killed), SOON, "it has ended")
    assert texts(run(waits, 0)) == [b"first", b"second"]
    assert server() != killed
    assert texts(parts) == [b"second"]


@pytest.mark.parametrize("number", [signal.SIGKILL, None])
def test_process__that_ends__takes_server_and_jobs_with_it(number: signal.Signals | None) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", ENDING], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout
    pids = [int(pid) for pid in program.stdout.readline().split()]
    assert all(map(processes.is_alive, pids))
    if number:
        program.send_signal(number)
    program.communicate()
    eventually(lambda: not any(map(processes.is_alive, pids)), SOON, "they end")


def test_job__of_a_process_that_runs_elsewhere__finds_the_modules(tmp_path: Path) -> None:
    """The fork server imports from the directory it is in; then the job does it."""
    program = ENDING.replace("import os, sys", f"import os, sys; sys.path.insert(0, {str(ROOT)!r})")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
