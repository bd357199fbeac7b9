"""Hosts whose clocks differ agree, by the database's clock, on stamps, tokens and ids."""

import asyncio
import datetime as dt
import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import time_machine
from django.db import OperationalError, connection

from config.ids import made_at, new_id
from config.postgresql import clock
from submissions.hosted import stamps
from submissions.live.tokens import BadToken, live_token, read_token

BEHIND = 130.0  # seconds; longer than a token of the live stream lives


@contextmanager
def on_slow_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the block on a host that is BEHIND the database."""
    with monkeypatch.context() as patch, time_machine.travel(time.time() - BEHIND):
        patch.setattr(clock, "difference", lambda: BEHIND)
        yield


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> clock._Difference:
    """Be a web process that has not measured yet."""
    fresh = clock._Difference(measures=True)
    monkeypatch.setattr(clock, "_difference", fresh)
    return fresh


def test_stamp__of_a_page_opened_on_a_slow_host__is_as_old_on_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was stored as spam, "too fast", or was too old."""
    with on_slow_host(monkeypatch):
        text = stamps.make("frm_1")
    stamp = stamps.read("frm_1", text)
    assert stamp
    assert abs(clock.shared_time() - stamp.at) < 5


def test_stamp__older_than_a_day__is_ignored_whatever_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that was opened yesterday, with an error page in between, is as old as its last stamp."""
    text = stamps.make("frm_1", opened_at=time.time() - 2 * stamps.GOOD_FOR)
    assert stamps.read("frm_1", text)
    with time_machine.travel(dt.timedelta(seconds=stamps.GOOD_FOR + 5)):
        assert stamps.read("frm_1", text) is None
        with on_slow_host(monkeypatch):
            assert stamps.read("frm_1", text) is None


def test_live_token__of_a_slow_host__is_valid_on_another_and_ends_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was expired when it was made."""
    with on_slow_host(monkeypatch):
        text = live_token(uuid.uuid4(), None, uuid.uuid4())
        assert read_token(text)
    assert read_token(text)
    with time_machine.travel(dt.timedelta(seconds=125)), pytest.raises(BadToken):
        read_token(text)


def test_id__of_a_slow_host__has_the_databases_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The live stream reads only the last seconds again. (The library that makes ids has the true clock here.)"""
    monkeypatch.setattr(clock, "difference", lambda: BEHIND)
    ahead = made_at(clock.by_shared_time(new_id())) - made_at(new_id())
    assert abs(ahead.total_seconds() - BEHIND) < 5
    assert clock.by_shared_time(new_id()).version == 7
    assert abs((clock.shared_now() - dt.datetime.now(dt.UTC)).total_seconds() - BEHIND) < 5


@pytest.mark.django_db
@pytest.mark.usefixtures("web")
def test_difference__measured_in_the_database__is_that_of_the_clocks() -> None:
    """SQLite has the clock of its only host."""
    expected = BEHIND if connection.vendor == "postgresql" else 0
    with time_machine.travel(time.time() - BEHIND):
        assert abs(clock.difference() - expected) < 5
    assert not clock.is_stale()


def test_difference__while_the_database_is_unavailable__stays(
    web: clock._Difference, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A submission gets its own 503 a moment later; a page is still shown."""

    def fail() -> float:
        raise OperationalError("gone")

    web.seconds = BEHIND
    monkeypatch.setattr(clock, "measure", fail)
    with caplog.at_level(logging.WARNING):
        assert (clock.difference(), clock.difference()) == (BEHIND, BEHIND)
    assert [record.getMessage() for record in caplog.records] == ["the database's clock could not be read: gone"]


@pytest.mark.usefixtures("web")
def test_difference__in_an_event_loop__is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query there would stop every viewer's stream; a thread measures first."""
    monkeypatch.setattr(clock, "measure", lambda: BEHIND)

    async def ask() -> tuple[float, bool, float]:
        before, stale = clock.difference(), clock.is_stale()
        return before, stale, await asyncio.to_thread(clock.difference)

    assert asyncio.run(ask()) == (0.0, True, BEHIND)


@pytest.mark.usefixtures("web")
def test_difference__of_synchronized_hosts__is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids of a process then never jump."""
    monkeypatch.setattr(clock, "measure", lambda: 0.2)
    assert clock.difference() == 0.0
