"""The children of `serve`: forks in which no handler, session, role or random state of the parent goes on."""

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

from config.base.ids import new_id
from config.supervision.children import SIGNALS, Children
from tests.faults.processes import children, command, is_alive
from tests.services.waiting import eventually

PATIENCE_SECONDS = 20


class Nursery(Children):
    """Children whose output is read from a pipe. All of them end with the test."""

    def __init__(self) -> None:
        super().__init__()
        self.output, self.input = os.pipe()

    def close(self) -> None:
        self.end(0)
        signal.set_wakeup_fd(-1)
        self._signals.close()
        self._written.close()
        for descriptor in (*self._lifeline, self.output, self.input):
            os.close(descriptor)

    def say(self, text: str) -> None:
        os.write(self.input, text.encode())

    def said(self) -> str:
        return os.read(self.output, 65_536).decode()


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    former = {number: signal.getsignal(number) for number in SIGNALS}
    made = Nursery()
    yield made
    made.close()
    for number, handler in former.items():
        signal.signal(number, handler)


def pids(name: str) -> list[int]:
    return [pid for pid in children(os.getpid()) if command(pid).endswith(f" {name}")]


def test_forks__of_one_process__draw_different_ids_and_secrets(nursery: Nursery) -> None:
    def draw() -> list[str]:
        made = (new_id().hex[16:], uuid4().hex, secrets.token_hex(16), str(random.random()))
        return [str(value) for value in made]

    drawn = draw()  # so that every generator has a state that a fork could share
    for _ in range(3):
        nursery.start("draws", lambda: nursery.say(" ".join(draw()) + " "))
        assert nursery.hear(nursery.output, PATIENCE_SECONDS)
        drawn += nursery.said().split()
        nursery.end(PATIENCE_SECONDS)
    drawn += draw()
    assert len(drawn) == len(set(drawn)) == 5 * 4


def test_child__of_a_process_that_handles_signals__ends_by_sigterm(nursery: Nursery) -> None:
    nursery.start("waits", threading.Event().wait)
    (pid,) = eventually(lambda: pids("waits"))
    nursery.end(PATIENCE_SECONDS)
    assert not Path(f"/proc/{pid}").exists()


def test_child__that_does_not_end__is_killed_with_what_it_has_started(nursery: Nursery) -> None:
    def stay() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        nursery.say(str(subprocess.Popen(["sleep", "60"]).pid))
        threading.Event().wait()

    nursery.start("stays", stay)
    assert nursery.hear(nursery.output, PATIENCE_SECONDS)
    started = int(nursery.said())
    nursery.end(0.1)
    eventually(lambda: not is_alive(started))


def test_child__shown_by_top__has_its_own_name_session_and_role(nursery: Nursery) -> None:
    nursery.start("test", lambda: nursery.say(f"{os.getsid(0) == os.getpid()} {os.environ['FIELDPOST_ROLE']}"))
    assert nursery.hear(nursery.output, PATIENCE_SECONDS)
    assert nursery.said() == "True test"
    assert os.environ.get("FIELDPOST_ROLE") is None


def fail() -> None:
    raise ValueError("on purpose")


@pytest.mark.parametrize("run", [fail, lambda: os._exit(3), lambda: exit(4), lambda: os.kill(0, signal.SIGKILL)])
def test_child__that_ends__is_started_again_until_a_signal_comes(nursery: Nursery, run: Callable[[], object]) -> None:
    def live() -> None:
        nursery.say(".")
        run()

    nursery.start("dies", live)
    texts: list[str] = []

    def read() -> None:
        while len("".join(texts)) < 3:
            texts.append(nursery.said())
        os.kill(os.getpid(), signal.SIGHUP)

    reader = threading.Thread(target=read)
    reader.start()
    assert nursery.wait_for_signal() == signal.SIGHUP
    reader.join()
