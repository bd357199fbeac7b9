"""The hub of the live stream: one query per poll however many watch, late commits, slow viewers, outages."""

import asyncio
import datetime as dt
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.db import OperationalError, connection

from config.base.ids import first_id_of
from config.base.times import now
from submissions.live import stream
from submissions.live.hub import MOST_REPLAYED, QUEUE, REPLAYED, RESET, Hub, Viewer
from submissions.live.reader import MOST_READ, Message, Reader
from submissions.live.tokens import Watch
from tests.services.waiting import reached

ORGANIZATION, FORM = uuid.uuid4(), uuid.uuid4()


def watch(organization: uuid.UUID = ORGANIZATION, form: uuid.UUID | None = None) -> Watch:
    return Watch(organization, form, int(time.time()) + 60)


def message(seconds_ago: float = 0, *, organization: uuid.UUID = ORGANIZATION, salt: int = 0) -> Message:
    pk = uuid.UUID(int=first_id_of(now() - dt.timedelta(seconds=seconds_ago)).int + salt + 1)
    return pk, organization, FORM, f"event {pk}".encode()


def run(scenario: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(scenario())  # type: ignore[arg-type]  # coroutines


class Table:
    """Messages for polls to find, and the polls made."""

    def __init__(self, *messages: Message) -> None:
        self.messages = list(messages)
        self.polls: list[tuple[list[uuid.UUID], uuid.UUID]] = []

    def read(self, organizations: list[uuid.UUID], since: uuid.UUID) -> list[Message]:
        self.polls.append((organizations, since))
        return sorted(one for one in self.messages if one[0] > since and one[1] in organizations)[-MOST_READ:]


def hub_of(table: Table) -> Hub:
    """Return a hub that polls only when its test does."""
    return Hub(table.read, polls=False)


def received(viewer: Viewer) -> list[bytes | None]:
    return [viewer.queue.get_nowait() for _ in range(viewer.queue.qsize())]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("viewers", [1, 100])
def test_poll__however_many_watch__asks_the_database_once(viewers: int) -> None:
    queries: list[str] = []

    def count(execute: Any, sql: str, *rest: Any) -> Any:
        queries.append(sql)
        return execute(sql, *rest)

    reader = Reader()

    def read(organizations: list[uuid.UUID], since: uuid.UUID) -> list[Message]:
        with connection.execute_wrapper(count):
            found = reader.read(organizations, since)
        connection.close()
        return found

    async def scenario() -> None:
        hub = Hub(read, polls=False)
        for _ in range(viewers):
            hub.add(watch(uuid.uuid4()), None)
        await hub.poll()
        await hub.poll()

    run(scenario)
    assert len(queries) == 2, "one per poll"


def test_reader__with_nobody_left__ends_and_asks_nothing() -> None:
    table = Table()

    async def scenario() -> int:
        hub = Hub(table.read)
        viewer = hub.add(watch(), None)
        await reached(lambda: table.polls)
        hub.remove(viewer)
        assert hub.reader is not None
        await asyncio.wait_for(hub.reader, 5)
        return len(table.polls)

    seen = run(scenario)
    assert len(table.polls) == seen


def test_poll__committed_late__is_told_once() -> None:
    early, late = message(2), message(5)
    table = Table(early)

    async def scenario() -> list[bytes | None]:
        hub = hub_of(table)
        viewer = hub.add(watch(), first_id_of(now() - dt.timedelta(seconds=3)))
        await hub.poll()
        table.messages.append(late)
        await hub.poll()
        await hub.poll()
        return received(viewer)

    assert run(scenario) == [early[3], late[3]]


def test_poll__for_one_that_was_away__tells_the_others_nothing_again() -> None:
    table = Table(*(message(60, salt=salt) for salt in range(MOST_REPLAYED)))

    async def scenario() -> tuple[list[bytes | None], list[bytes | None]]:
        hub = hub_of(table)
        present = hub.add(watch(), None)
        await hub.poll()
        away = hub.add(watch(), first_id_of(now() - dt.timedelta(seconds=90)))
        await hub.poll()
        await hub.poll()
        return received(present), received(away)

    assert run(scenario) == ([], [one[3] for one in sorted(table.messages)])


def test_poll__with_more_rows_than_it_reads__resets_whom_they_kept_something_from() -> None:
    busy = uuid.uuid4()
    table = Table()

    async def scenario() -> list[bytes | None]:
        hub = hub_of(table)
        viewer = hub.add(watch(), None)
        hub.add(watch(busy), None)
        await hub.poll()
        hub.polled_at = now() - dt.timedelta(seconds=60)  # the database was unavailable for a minute
        table.messages = [message(50), *(message(30, organization=busy, salt=salt) for salt in range(MOST_READ))]
        await hub.poll()
        return received(viewer)

    assert run(scenario) == [RESET, None]


def test_poll__after_longer_than_is_replayed__resets_everybody() -> None:
    async def scenario() -> list[bytes | None]:
        hub = hub_of(Table())
        viewer = hub.add(watch(), None)
        await hub.poll()
        hub.polled_at = now() - REPLAYED - dt.timedelta(minutes=1)
        await hub.poll()
        return received(viewer)

    assert run(scenario) == [RESET, None]


def test_position__of_a_quiet_viewer__moves_on_with_the_looks() -> None:
    async def scenario() -> tuple[uuid.UUID, uuid.UUID]:
        hub = hub_of(Table())
        viewer = hub.add(watch(), first_id_of(now() - dt.timedelta(minutes=5)))
        before = hub.position(viewer)
        await hub.poll()
        return before, hub.position(viewer)

    before, after = run(scenario)
    assert before < first_id_of(now() - dt.timedelta(minutes=4)), "nothing was looked for yet"
    assert after > first_id_of(now() - dt.timedelta(minutes=1))


def test_position__of_one_that_was_told__is_what_was_told_last() -> None:
    newest = message(1)

    async def scenario() -> uuid.UUID:
        hub = hub_of(Table(message(2), newest))
        viewer = hub.add(watch(), first_id_of(now() - dt.timedelta(seconds=3)))
        await hub.poll()
        return hub.position(viewer)

    assert run(scenario) == newest[0]


def test_poll__of_others__is_not_told() -> None:
    table = Table(message(1, organization=uuid.uuid4()), message(1))

    async def scenario() -> list[bytes | None]:
        hub = hub_of(table)
        viewer = hub.add(watch(form=uuid.uuid4()), first_id_of(now() - dt.timedelta(seconds=3)))
        await hub.poll()
        return received(viewer)

    assert run(scenario) == []


def test_viewer__that_takes_nothing__is_dismissed_and_costs_no_more_memory() -> None:
    table = Table()

    async def scenario() -> tuple[list[bytes | None], int]:
        hub = hub_of(table)
        viewer = hub.add(watch(), None)
        await hub.poll()
        for number in range(QUEUE // 100 + 1):
            table.messages = [message(-1 - number, salt=salt) for salt in range(100)]
            await hub.poll()
        return received(viewer), len(hub.viewers)

    assert run(scenario) == ([RESET, None], 0)


def test_viewer__with_more_missed_than_is_replayed__is_dismissed() -> None:
    table = Table(*(message(60, salt=salt) for salt in range(MOST_REPLAYED + 1)))

    async def scenario() -> list[bytes | None]:
        hub = hub_of(table)
        viewer = hub.add(watch(), first_id_of(now() - dt.timedelta(seconds=90)))
        await hub.poll()
        return received(viewer)

    assert run(scenario) == [RESET, None]


def test_viewer__whose_replay_a_full_look_may_have_cut__is_dismissed() -> None:
    busy = uuid.uuid4()
    table = Table(*(message(5, organization=busy, salt=salt) for salt in range(MOST_READ)), message(60))

    async def scenario() -> list[bytes | None]:
        hub = hub_of(table)
        hub.add(watch(busy), None)
        viewer = hub.add(watch(), first_id_of(now() - dt.timedelta(seconds=90)))
        await hub.poll()
        return received(viewer)

    assert run(scenario) == [RESET, None]


def test_poll__after_an_outage_of_the_database__finds_what_came_meanwhile() -> None:
    table = Table()

    async def scenario() -> list[bytes | None]:
        hub = hub_of(table)
        viewer = hub.add(watch(), None)
        hub.polled_at = now() - dt.timedelta(seconds=60)  # the last successful poll
        viewer.is_new, viewer.after = False, first_id_of(hub.polled_at)
        table.messages.append(message(40))
        await hub.poll()
        return received(viewer)

    assert len(run(scenario)) == 1


def test_reader__while_the_database_is_unavailable__keeps_its_viewers_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("submissions.live.hub.POLL_SECONDS", 0.05)
    table = Table()
    failures = iter([OperationalError("gone"), OperationalError("gone"), OperationalError("gone")])

    def read(organizations: list[uuid.UUID], since: uuid.UUID) -> list[Message]:
        for failure in failures:
            raise failure
        return table.read(organizations, since)

    monkeypatch.setattr("submissions.live.hub.drop_broken_connections", lambda: None)

    async def scenario() -> int:
        hub = Hub(read)
        viewer = hub.add(watch(), None)
        await reached(lambda: table.polls)
        left = len(hub.viewers)
        hub.remove(viewer)
        return left

    assert run(scenario) == 1
    assert len([record for record in caplog.records if "the database is unavailable" in record.getMessage()]) == 1


@pytest.mark.parametrize("error", [OperationalError("gone"), TypeError("a defect")])
def test_reader__whose_polls_all_fail__says_so_each_minute_and_at_healthz(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("submissions.live.hub.POLL_SECONDS", 0.05)
    monkeypatch.setattr("submissions.live.hub.drop_broken_connections", lambda: None)
    monkeypatch.setattr("submissions.live.hub.LOG_AGAIN_SECONDS", 0)  # each minute
    table, failures = Table(), [error] * 3

    def read(organizations: list[uuid.UUID], since: uuid.UUID) -> list[Message]:
        if failures:
            raise failures.pop()
        return table.read(organizations, since)

    async def health() -> str:
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await stream.application({"type": "http", "method": "GET", "path": "/healthz"}, None, send)  # type: ignore[arg-type]  # it reads nothing
        return f"{sent[0]['status']} {sent[1]['body'].decode()}"

    async def scenario() -> list[str]:
        hub = Hub(read)
        monkeypatch.setattr(stream, "hub", hub)
        viewer = hub.add(watch(), None)
        await reached(lambda: hub.failed == 3)
        seen = [await health()]
        await reached(lambda: table.polls)
        await reached(lambda: not hub.failed)
        hub.remove(viewer)
        return [*seen, await health()]

    assert run(scenario) == ["200 failed polls: 3", "200 ok"]
    said = [record for record in caplog.records if record.getMessage().startswith("live stream: ")]
    assert [record.__dict__["failed"] for record in said] == [1, 2, 3]
