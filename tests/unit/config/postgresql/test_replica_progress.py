"""How far a replica is behind, from places in the primary's log."""

import time

import pytest
from django.db import OperationalError
from pytest_django import Settings

from config.database import snapshot
from config.postgresql import replica
from config.postgresql.replica import LATE_SECONDS, Places, Progress, Replica, may_be_late


class Clock:
    """A monotonic clock that tests set."""

    def __init__(self) -> None:
        self.now = 1000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    return clock


def test_replica__that_has_the_place_of_this_moment__is_near(clock: Clock) -> None:
    assert Places().compare(500, lambda: 500) is Progress.NEAR
    assert clock.now == 1000.0


def test_replica__without_newer_commits__is_near_for_three_seconds_and_far_once_they_are_as_old(clock: Clock) -> None:
    places = Places()
    written = iter([100, 200, 300, 400, 500, 600])
    assert places.compare(100, lambda: next(written)) is Progress.NEAR
    for _ in range(3):
        clock.now += 1
        assert places.compare(100, lambda: next(written)) is Progress.NEAR  # it lacks what is younger
    clock.now += 1.5
    assert places.compare(100, lambda: next(written)) is Progress.FAR


def test_replica__asked_about_too_rarely__is_unknown_until_it_was_asked_about_again(clock: Clock) -> None:
    places = Places()
    assert places.compare(90, lambda: 100) is Progress.UNKNOWN
    clock.now += 60
    assert places.compare(150, lambda: 200) is Progress.UNKNOWN
    clock.now += LATE_SECONDS / 2
    assert places.compare(220, lambda: 300) is Progress.NEAR


def test_primary__within_a_second__is_asked_once(clock: Clock) -> None:
    places, asked = Places(), []

    def ask() -> int:
        asked.append(clock.now)
        return 100

    for _ in range(5):
        places.compare(100, ask)
        clock.now += 0.19
    assert asked == [1000.0]


@pytest.mark.django_db(transaction=True, databases=["default", "snapshot"])
def test_replica__while_the_primary_cannot_be_asked__is_left_without_being_blamed(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    def ask() -> int:
        raise OperationalError("the primary is unavailable")

    settings.DATABASE_REPLICA_URL, settings.REPLICA_OF = "postgres://replica.example/forms", {"snapshot": "default"}
    monkeypatch.setattr("config.database.REPLICA", Replica())
    monkeypatch.setattr(replica, "_REPLAYED", "SELECT 0")
    monkeypatch.setattr(replica, "_place_of_primary", ask)

    @may_be_late
    def read() -> str:
        with snapshot() as alias:
            return alias

    assert read() == "snapshot"
    assert "the replica cannot be read" not in caplog.text
