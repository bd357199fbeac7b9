"""When a deliverer starts the process that sends deliveries one by one (docs/adr/0046)."""

import subprocess
from typing import Any

import pytest

from webhooks.outbox import alone
from webhooks.outbox.alone import BLOCKED, AloneProcess


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class Ended:
    """A process that has ended with a status."""

    def __init__(self, status: int) -> None:
        self.status = status

    def poll(self) -> int:
        return self.status


def starts(monkeypatch: pytest.MonkeyPatch, statuses: list[int]) -> list[float]:
    """Return the seconds at which processes are started, asked once a second, that end with these statuses."""
    clock, waiting, seen = Clock(), list(statuses), list[float]()

    def start(*_arguments: Any, **_options: Any) -> Ended:
        seen.append(clock.now)
        return Ended(waiting.pop(0))

    monkeypatch.setattr(alone, "time", clock)
    monkeypatch.setattr(alone, "is_needed", lambda: bool(waiting))
    monkeypatch.setattr(subprocess, "Popen", start)
    process = AloneProcess()
    while waiting:
        process.start_if_needed()
        clock.now += 1
    return seen


def test_process__that_could_send_nothing__is_started_again_after_longer_and_longer_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert starts(monkeypatch, [BLOCKED] * 9) == [0, 2, 5, 10, 19, 36, 67, 98, 129]


def test_process__that_sent_something__ends_the_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert starts(monkeypatch, [BLOCKED, BLOCKED, 0, BLOCKED, 0]) == [0, 2, 5, 6, 8]
