"""Long work lets requests pass: its pauses, and none without requests (config/web_server/traffic.py)."""

import time

import pytest

from config.web_server import traffic
from config.web_server.traffic import Traffic

WORK_SECONDS = 0.02


def seconds_slept(own: Traffic, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the pauses after two parts, of which each takes WORK_SECONDS of processor time."""
    slept: list[float] = []
    monkeypatch.setattr(traffic, "sleep", slept.append)
    for _part in own.let_pass(range(2)):
        until = time.thread_time() + WORK_SECONDS
        while time.thread_time() < until:
            pass
    return slept


def test_let_pass__without_requests__makes_no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seconds_slept(Traffic(), monkeypatch) == []


def test_let_pass__while_requests_arrive__pauses_three_times_as_long_as_it_worked_and_not_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = Traffic()
    monkeypatch.setattr(own, "is_busy", lambda: True)
    slept = seconds_slept(own, monkeypatch)
    assert len(slept) == 2
    assert all(traffic.PAUSE * WORK_SECONDS <= pause <= traffic.MOST_SECONDS for pause in slept)


def test_is_busy__after_a_request__lasts_a_tenth_of_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    own, moment = Traffic(), [100.0]
    monkeypatch.setattr(traffic, "monotonic", lambda: moment[0])
    assert not own.is_busy()
    own.note()
    moment[0] += traffic.BUSY_SECONDS / 2
    assert own.is_busy()
    moment[0] += traffic.BUSY_SECONDS
    assert not own.is_busy()
