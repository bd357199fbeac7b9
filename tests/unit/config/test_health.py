"""`/readyz` while a migration is missing. Its other answers are tested over HTTP."""

import json
import sqlite3
import threading
from contextlib import suppress
from types import SimpleNamespace

import pytest
from django.db import OperationalError, ProgrammingError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import RequestFactory
from psycopg import errors
from pytest_django import DjangoAssertNumQueries, Settings

from config import health, outage
from tests.services.waiting import eventually
from tests.support.tenants import make_tenant
from webhooks.models import Receiver

pytestmark = pytest.mark.django_db

READYZ = RequestFactory().get("/readyz")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_seen_complete", False)
    monkeypatch.setattr(health, "STORING", health.Checked(outage.why_not_storing))
    monkeypatch.setattr(health, "KEYS", health.Checked(health.wrong_keys, once=True))
    monkeypatch.setattr(health, "PROBLEMS", health.Problems())


@pytest.fixture
def patched_clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return `[seconds]`, the monotonic clock of the module."""
    clock = [0.0]
    monkeypatch.setattr(health, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    return clock


def test_readyz__with_a_missing_migration__is_503_and_says_what_to_run() -> None:
    MigrationRecorder(connection).record_unapplied("webhooks", "0004_database_defaults")
    answer = health.readyz(READYZ)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    message = "1 migration is not applied. Run `manage.py migrate`."
    assert json.loads(answer.content) == {"status": "migrations_missing", "message": message}


def test_readyz__once_every_migration_is_there__asks_no_more(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """Migrations of a newer release do not matter to this one. The write is that of the first probe."""
    MigrationRecorder(connection).record_applied("webhooks", "9999_of_a_newer_release")
    assert health.readyz(READYZ).status_code == 200
    with django_assert_num_queries(1):
        assert health.readyz(READYZ).status_code == 200


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (errors.DiskFull("No space left on device"), "The disk of the database is full."),
        (sqlite3.OperationalError("database or disk is full"), "The disk of the database is full."),
        (sqlite3.OperationalError("database is locked"), ""),
        (errors.LockNotAvailable("canceling statement"), ""),
        (errors.InsufficientPrivilege("permission denied for function pg_logical_emit_message"), ""),
    ],
)
def test_storing__of_a_failed_write__is_the_reason_that_the_driver_gives(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def fail() -> None:
        of_django = ProgrammingError if isinstance(error, errors.InsufficientPrivilege) else OperationalError
        raise of_django(str(error)) from error

    monkeypatch.setattr(outage, "_write", fail)
    answer = health.readyz(READYZ)
    assert (answer.status_code, json.loads(answer.content).get("message", "")) == (503 if reason else 200, reason)


def test_storing__while_requests_meet_a_full_disk__is_refused_although_a_small_write_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = outage.Outage(lambda: False)
    made.note(OperationalError("could not extend file: No space left on device"))
    assert not made.is_full
    error = OperationalError("could not extend file")
    error.__cause__ = errors.DiskFull()
    made.note(error)
    monkeypatch.setattr(outage, "OUTAGE", made)
    assert json.loads(health.readyz(READYZ).content)["status"] == "cannot_store"


def test_storing__is_tried_at_most_each_five_seconds__and_again_after_an_outage(
    patched_clock: list[float],
) -> None:
    tries: list[float] = []

    def reason() -> str:
        tries.append(patched_clock[0])
        if len(tries) == 2:
            raise OperationalError("the server closed the connection")
        return ""

    storing = health.Checked(reason)
    for moment in (100.0, 104.9, 105.0, 105.1, 110.0):
        patched_clock[0] = moment
        with suppress(OperationalError):
            storing.reason()
    assert tries == [100.0, 105.0, 105.1]


def test_problems__of_a_finder_that_fails_or_hangs__leave_those_of_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(health, "WAIT_SECONDS", 0.01)
    goes_on, problems = threading.Event(), health.Problems()

    def failing() -> list[health.Problem]:
        raise RuntimeError("a fault")

    def hanging() -> list[health.Problem]:
        goes_on.wait(60)
        return [health.Problem("slow", "Slow.")]

    problems.register(failing, lambda: [health.Problem("quick", "Quick.")], hanging)
    try:
        eventually(lambda: [one.code for one in problems.now()] == ["quick"])
    finally:
        goes_on.set()
    eventually(lambda: [one.code for one in problems.now()] == ["quick", "slow"])
    assert "searching for problems failed" in caplog.text


def test_readyz__of_a_copy_with_other_keys__is_503_until_one_secret_can_be_read(settings: Settings) -> None:
    organization = make_tenant().organization
    settings.ENCRYPTION_KEYS = ["of the copy" * 4]
    settings.SECRET_KEY = "another" * 10
    assert health.readyz(READYZ).status_code == 200  # nothing is stored yet
    health.KEYS = health.Checked(health.wrong_keys, once=True)
    for number in range(2):
        Receiver.objects.create(organization=organization, url=f"https://a.example/{number}", events=[])
    settings.ENCRYPTION_KEYS = ["of another place" * 4]
    answer = health.readyz(READYZ)
    assert (answer.status_code, json.loads(answer.content)["status"]) == (503, "wrong_keys")
    assert "manage.py reencrypt_secrets" in json.loads(answer.content)["message"]
    Receiver.objects.create(organization=organization, url="https://a.example/readable", events=[])
    health.KEYS = health.Checked(health.wrong_keys, once=True)
    assert health.readyz(READYZ).status_code == 200
