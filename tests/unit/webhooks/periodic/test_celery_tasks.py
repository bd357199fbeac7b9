"""Tasks are hints: the schedule names tasks that exist, and at most one hint is outstanding (docs/adr/0004)."""

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from celery import current_app
from django.conf import settings as django_settings
from django.db import Error, connection
from pytest_django import Settings

from config import clean_up
from config.base import redis_caches
from config.base.nudge import DELIVER, MESSAGE_SECONDS, nudge, send_nudge, take_nudge
from config.base.redis_caches import Breaker
from config.celery import app
from tests.services.processes import free_port
from tests.services.receivers import Receiver
from tests.services.waiting import eventually
from tests.unit.webhooks.rows import make_form, make_submission, make_webhook
from webhooks import periodic_jobs, tasks
from webhooks.models import Delivery

HAS_REDIS = bool(django_settings.REDIS_URL)  # on the run with PostgreSQL; there no worker takes the messages away


@pytest.fixture
def fresh_nudges(monkeypatch: pytest.MonkeyPatch) -> Iterator[Breaker]:
    """Clear flags, messages and the memory of a failed Redis, before and after."""
    breaker = Breaker()
    monkeypatch.setattr(redis_caches, "breaker", breaker)
    if HAS_REDIS:
        clear()
    yield breaker
    if HAS_REDIS:
        clear()


def clear() -> None:
    take_nudge()
    with current_app.connection_for_write() as connection:
        channel: Any = connection.default_channel  # kombu declares the protocol's methods on each transport's own
        channel.queue_purge(current_app.conf.task_default_queue)


def use_redis_at(port: int, settings: Settings) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"


def messages() -> int:
    """Return how many messages wait in the broker: Redis, or the process's memory where there is none."""
    with current_app.connection_for_read() as connection:
        channel: Any = connection.default_channel
        return int(channel.queue_declare(current_app.conf.task_default_queue).message_count)


def test_beat_schedule__every_entry__names_a_task_that_exists() -> None:
    app.loader.import_default_modules()
    schedule = {name: (entry["task"], entry["schedule"]) for name, entry in app.conf.beat_schedule.items()}
    assert schedule == {
        "sweep": ("webhooks.tasks.deliver_due", django_settings.DELIVERY_SWEEP_SECONDS),
        **{name: ("webhooks.tasks.run_job", seconds) for name, (_, seconds) in periodic_jobs.JOBS.items()},
    }
    assert periodic_jobs.JOBS["clean-up"] == (clean_up.clean_up, 3600)
    assert {task for task, _ in schedule.values()} <= set(app.tasks)


def test_beat_schedule__every_entry__expires_before_the_next_is_sent_or_in_a_minute() -> None:
    """A queue that nobody works on must not fill up with sweeps."""
    for entry in app.conf.beat_schedule.values():
        assert 0 < entry["options"]["expires"] <= max(entry["schedule"], MESSAGE_SECONDS)


def test_dispatch_task__name_that_submit_nudges__is_the_tasks_own() -> None:
    assert tasks.deliver_due.name == DELIVER


@pytest.mark.usefixtures("fresh_nudges")
def test_nudge__a_hundred_times__leaves_at_most_one_message_outstanding() -> None:
    """With Redis exactly one; without it none, as `manage.py deliver` polls."""
    for _ in range(100):
        send_nudge(DELIVER)
    assert messages() == int(HAS_REDIS)


@pytest.mark.usefixtures("fresh_nudges")
def test_nudge__after_the_worker_took_the_last_one__is_sent_again() -> None:
    send_nudge(DELIVER)
    take_nudge()
    send_nudge(DELIVER)
    send_nudge(DELIVER)
    assert messages() == 2 * int(HAS_REDIS)


@pytest.fixture
def failures(fresh_nudges: Breaker, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """Collect what made the breaker stop calls of Redis, for longer than a test takes."""
    settings.REDIS_RETRY_SECONDS = 60
    seen, trip = list[BaseException](), fresh_nudges.trip

    def seen_trip(error: BaseException) -> None:
        seen.append(error)
        trip(error)

    monkeypatch.setattr(fresh_nudges, "trip", seen_trip)
    return seen


def test_nudge__redis_is_down__does_not_raise_and_asks_it_once(
    failures: list[BaseException], settings: Settings
) -> None:
    use_redis_at(free_port(), settings)
    for _ in range(100):
        send_nudge(DELIVER)
        take_nudge()
    assert len(failures) == 1


def test_nudge__redis_is_frozen__waits_for_one_time_out_and_then_leaves_it_alone(
    failures: list[BaseException], fresh_nudges: Breaker, settings: Settings
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        use_redis_at(silent.getsockname()[1], settings)
        start = time.monotonic()
        for _ in range(100):
            send_nudge(DELIVER)
        assert time.monotonic() - start < settings.REDIS_TIMEOUT_SECONDS * 10  # for a hundred
    assert len(failures) == 1
    assert fresh_nudges.is_open()


@pytest.mark.usefixtures("fresh_nudges")
def test_nudge__from_a_request__is_sent_beside_it() -> None:
    """A hundred together become a hint or a few, never more than are taken."""
    for _ in range(100):
        nudge(DELIVER)
    eventually(lambda: messages() == int(HAS_REDIS), because="the hint is in the broker")


def test_nudge__redis_is_frozen__no_request_waits_for_it(fresh_nudges: Breaker, settings: Settings) -> None:
    settings.REDIS_TIMEOUT_SECONDS = 20
    with socket.create_server(("127.0.0.1", 0)) as silent:
        use_redis_at(silent.getsockname()[1], settings)
        start = time.monotonic()
        nudge(DELIVER)
        assert time.monotonic() - start < settings.REDIS_TIMEOUT_SECONDS / 2
        silent.accept()[0].close()
    eventually(fresh_nudges.is_open, because="the sender has noticed that Redis is down")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("fresh_nudges")
def test_deliver_due__called_as_a_task__dispatches_and_delivers(receiver: Receiver) -> None:
    form = make_form()
    make_webhook(form, url=receiver.url())
    make_submission(form)
    tasks.deliver_due.apply(throw=True)
    assert Delivery.objects.get().status == "delivered"
    assert len(receiver.requests) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("fresh_nudges", "receiver")
def test_deliver_due__budget_is_spent__asks_for_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "BUDGET_SECONDS", 0)
    asked: list[str] = []
    monkeypatch.setattr(tasks.deliver_due, "delay", lambda: asked.append("again"))
    tasks.deliver_due.apply(throw=True)
    assert asked == ["again"]


@pytest.mark.django_db(transaction=True)
def test_clean_up__called_as_a_task__runs_every_purge(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    names = [
        "purge_notices",
        "purge_audit_trail",
        "encrypt_plain_secrets",
        "purge_invitations",
        "purge_answers",
        "purge_device_logins",
        "purge_reports",
        "purge_questions",
        "finish_all_erasing",
        "purge_submissions",
        "purge_idempotency_keys",
        "purge_refusals",
        "count_unknown",
        "purge_usage",
        "finish_all_deleting",
        "purge_unverified",
        "purge_unconfirmed",
        "finish_undoing",
        "purge_files_of_imports",
        "purge_files",
        "forget_dead",
        "purge_log",
        "purge_pending",
        "delete_all_hidden",
        "release_strays",
        "ask_waiting_recipients",
        "purge_submitter_mails",
        "purge_sessions",
    ]
    assert [job.__name__ for job in clean_up.jobs] == names
    monkeypatch.setattr(clean_up, "jobs", [lambda name=name: called.append(name) for name in names])
    tasks.run_job.apply(("clean-up",), throw=True)
    assert called == names


@pytest.mark.django_db(transaction=True)
def test_clean_up__with_jobs_that_fail__runs_the_others_and_names_the_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    def purge_files() -> None:
        raise OSError("the storage is down")

    def purge_log() -> None:
        if connection.vendor == "postgresql":
            connection.ensure_connection()
            connection.connection.close()  # like a server that restarts
        Delivery.objects.raw("SELECT no_such_column")[0]

    def purge_sessions() -> None:
        counted.append(Delivery.objects.count())

    monkeypatch.setattr(clean_up, "jobs", [purge_files, purge_log, purge_sessions])
    with pytest.raises(ExceptionGroup) as raised:
        clean_up.clean_up()
    assert counted == [0]
    files, log = raised.value.exceptions
    assert (str(files), isinstance(log, Error)) == ("the storage is down", True)
    notes = [*files.__notes__, *log.__notes__]
    assert [note.rpartition(".")[2] for note in notes] == ["purge_files", "purge_log"]
