"""Forks of a process: no handler, session or random state of the parent goes on in them."""

import os
import random
import secrets
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from uuid_utils.compat import uuid4

from config.ids import new_id
from config.supervision.forks import Fork, may_fork
from tests.services.waiting import eventually

PATIENCE_SECONDS = 20


class Nursery:
    """Forks whose output is read from a pipe. All of them end with the test."""

    def __init__(self) -> None:
        self.lifeline = os.pipe()
        self.output, self.input = os.pipe()

    def fork(self, run: Callable[[], object]) -> Fork:
        return Fork(run, name="test", lifeline=self.lifeline)

    def say(self, text: str) -> None:
        os.write(self.input, text.encode())

    def said(self) -> str:
        return os.read(self.output, 65_536).decode()


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    for descriptor in (*made.lifeline, made.output, made.input):
        os.close(descriptor)


def test_forks__of_one_process__draw_different_ids_and_secrets(nursery: Nursery) -> None:
    def draw() -> list[str]:
        made = (new_id().hex[16:], uuid4().hex, secrets.token_hex(16), str(random.random()))
        return [str(value) for value in made]

    drawn = draw()  # so that every generator has a state that a fork could share
    for _ in range(3):
        child = nursery.fork(lambda: nursery.say(" ".join(draw()) + " "))
        assert child.wait(PATIENCE_SECONDS) == 0
    drawn += [*draw(), *nursery.said().split()]
    assert len(drawn) == len(set(drawn)) == 5 * 4


def test_fork__of_a_process_that_handles_signals__ends_by_sigterm(nursery: Nursery) -> None:
    former = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        child = nursery.fork(threading.Event().wait)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.1)
        child.terminate()
        assert child.wait(PATIENCE_SECONDS) == -signal.SIGTERM
        child.kill()  # of a process that has ended: nothing
        assert child.wait() == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, former)


def test_fork__whose_supervisor_has_died__ends(nursery: Nursery) -> None:
    child = nursery.fork(threading.Event().wait)
    os.close(nursery.lifeline[1])
    nursery.lifeline = nursery.lifeline[0], os.dup(nursery.output)
    assert child.wait(PATIENCE_SECONDS) == -signal.SIGKILL


def test_fork__shown_by_top__has_its_own_name_and_session(nursery: Nursery) -> None:
    child = nursery.fork(threading.Event().wait)
    assert child.pid
    name = Path(f"/proc/{child.pid}/comm")
    eventually(lambda: name.read_text() == "test\n")
    assert os.getsid(child.pid) == child.pid


def fail() -> None:
    raise ValueError("on purpose")


@pytest.mark.parametrize(("run", "status"), [(fail, 1), (lambda: os._exit(3), 3), (lambda: exit(4), 4)])
def test_fork__that_fails__has_the_status_of_a_program(
    nursery: Nursery, run: Callable[[], object], status: int
) -> None:
    assert nursery.fork(run).wait(PATIENCE_SECONDS) == status


def test_process_with_two_threads__starts_new_interpreters() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert not may_fork()
    finally:
        ended.set()
        thread.join()
