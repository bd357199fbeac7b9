"""Jobs in forks: their parts, their errors and their ends."""

import json
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from config.supervision.forks import Fork
from config.supervision.job_forks import AUTOGROUP, JobEnded, JobForks, Parts
from tests.faults import processes
from tests.services.waiting import eventually, let_pass

PATIENCE_SECONDS = 20
LARGE = 3_000_000  # bytes: more than a socket holds


@pytest.fixture
def lifeline() -> Iterator[int]:
    reading, writing = os.pipe()
    yield reading
    os.close(reading)
    os.close(writing)


@pytest.fixture
def run(lifeline: int) -> Callable[[Callable[[JobForks], object]], Any]:
    """Return a function that calls another one with a started JobForks, in a process without threads."""

    def in_new_process(use: Callable[[JobForks], object]) -> Any:
        output, written = os.pipe()

        def process() -> None:
            forks = JobForks()
            forks.start("servers", "jobs")
            os.write(written, json.dumps(use(forks)).encode())

        child = Fork(process, title="test", lifeline=lifeline, files=[written])
        os.close(written)
        with os.fdopen(output, "rb") as said:
            text = said.read()
        assert child.wait(PATIENCE_SECONDS) == 0
        return json.loads(text)

    return in_new_process


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


def started(forks: JobForks, function: Callable[..., Parts], *arguments: object) -> Parts:
    parts = forks.run(function, *arguments)
    assert parts is not None
    return parts


def test_job__with_large_parts__returns_them_from_another_process_with_less_priority(run: Callable[..., Any]) -> None:
    def use(forks: JobForks) -> object:
        (first, one), (second, about) = [part for part in started(forks, two_parts, b"begin") if part[1]]
        assert second == b"x" * LARGE
        return [first.decode(), one, about["pid"] != os.getpid(), about["session"] != os.getsid(0), about["priority"]]

    niceness, of_session = priority()
    assert run(use) == ["begin", 1, True, True, [niceness + 10, of_session and "nice 10"]]


@pytest.mark.parametrize(
    ("error", "kind", "text", "cause"),
    [("known", "OperationalError", "the message", "ValueError"), ("odd", "RuntimeError", "Odd", "NoneType")],
)
def test_job__that_fails__raises_its_error_with_cause_and_traceback(
    run: Callable[..., Any], error: str, kind: str, text: str, cause: str
) -> None:
    def use(forks: JobForks) -> object:
        parts = started(forks, begins_and_fails, error)
        assert next(parts) == (b"first", 1)
        try:
            list(parts)
        except Exception as raised:
            said = "\n".join([str(raised), *getattr(raised, "__notes__", [])])
            return [type(raised).__name__, said, type(raised.__cause__).__name__]
        return None

    found = run(use)
    assert (found[0], found[2]) == (kind, cause)
    assert text in found[1]
    assert "in begins_and_fails" in found[1]


def test_job__without_a_part_for_a_while__yields_empty_ones(run: Callable[..., Any]) -> None:
    def use(forks: JobForks) -> object:
        return [part.decode() for part, _ in started(forks, waits, 1.2)]

    found = run(use)
    assert [part for part in found if part] == ["first", "second"]
    assert 1 <= found.count("") <= 3


def test_job__that_is_killed__raises_an_error(run: Callable[..., Any]) -> None:
    def use(forks: JobForks) -> object:
        parts = started(forks, waits, 60)
        os.kill(next(parts)[1], signal.SIGKILL)
        try:
            list(parts)
        except JobEnded:
            return [part.decode() for part, _ in started(forks, waits, 0) if part]
        return None

    assert run(use) == ["first", "second"]


def test_job__whose_parts_are_closed_while_it_waits__cleans_up_and_ends(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    mark = tmp_path / "mark"

    def use(forks: JobForks) -> object:
        with closing(started(forks, leaves_a_mark, str(mark))) as parts:
            pid = next(parts)[1]
        eventually(lambda: not processes.is_alive(pid), 5, "the job ends")
        return mark.read_text()

    assert run(use) == "cleaned up"


def test_jobs__that_have_ended__leave_no_process_and_no_descriptor(run: Callable[..., Any]) -> None:
    def use(forks: JobForks) -> object:
        def count() -> list[int]:
            (server,) = processes.children(os.getpid())
            files = [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in (os.getpid(), server)]
            children = [path for path in Path(f"/proc/{server}/task/{server}").glob("children") if path.read_text()]
            return [*files, len(children)]

        before = count()
        for number in range(30):
            parts = started(forks, waits, 0 if number % 2 else 60)
            next(parts)
            if number % 2:
                list(parts)
            parts.close()
        return eventually(lambda: (now := count()) == before and [before, now], 10, "all have ended")

    before, after = run(use)
    assert before == after
    assert after[2] == 0


def test_server__that_was_killed__is_done_without(run: Callable[..., Any]) -> None:
    def use(forks: JobForks) -> object:
        (server,) = processes.children(os.getpid())
        os.kill(server, signal.SIGKILL)
        answers = [forks.run(waits, 0) for _ in range(3)]
        return [answers, Path(f"/proc/{server}").exists()]

    assert run(use) == [[None] * 3, False]


def test_process__that_ends__takes_server_and_jobs_with_it(run: Callable[..., Any]) -> None:
    def use(forks: JobForks) -> object:
        parts = started(forks, waits, 60)
        kept.append(parts)  # not closed: the process ends
        return [*processes.children(os.getpid()), next(parts)[1]]

    kept: list[Generator[Any, None, None]] = []
    pids = run(use)
    assert len(pids) == 2
    eventually(lambda: not any(map(processes.is_alive, pids)), 5, "they end")


def test_process__with_threads__has_no_server() -> None:
    ended = threading.Event()
    threads = [threading.Thread(target=ended.wait) for _ in range(2)]
    for thread in threads:
        thread.start()
    forks = JobForks()
    forks.start("servers", "jobs")
    ended.set()
    assert forks.run(waits, 0) is None
