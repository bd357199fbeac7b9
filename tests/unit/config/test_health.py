"""`/readyz` while a migration is missing. Its other answers are tested over HTTP."""

import json

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import RequestFactory
from pytest_django import DjangoAssertNumQueries

from config import health

pytestmark = pytest.mark.django_db

READYZ = RequestFactory().get("/readyz")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_seen_complete", False)


def test_readyz__with_a_missing_migration__is_503_and_says_what_to_run() -> None:
    MigrationRecorder(connection).record_unapplied("webhooks", "0004_database_defaults")
    answer = health.readyz(READYZ)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    message = "1 migration is not applied. Run `manage.py migrate`."
    assert json.loads(answer.content) == {"status": "migrations_missing", "message": message}


def test_readyz__once_every_migration_is_there__asks_no_more(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """Migrations of a newer release do not matter to this one."""
    MigrationRecorder(connection).record_applied("webhooks", "9999_of_a_newer_release")
    assert health.readyz(READYZ).status_code == 200
    with django_assert_num_queries(1):
        assert health.readyz(READYZ).status_code == 200
