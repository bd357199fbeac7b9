"""`migrate` next to a running service on PostgreSQL."""

import os
import re
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from config.management.commands import migrate
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL  # SQLite locks the whole file, and waits for it

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE = "0018_lost_claims_are_due_like_others"  # the way there locks the table of receivers


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield a session that has read the table of webhooks in an open transaction, such as an export."""
    monkeypatch.setattr(migrate, "LOCK_SECONDS", 0.1)
    other = connection.copy("other")
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM webhooks_receiver")
    yield other
    other.close()
    call_command("migrate", verbosity=0)


def settings() -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout'), current_setting('statement_timeout')")
        return list(cursor.fetchone())


@pytest.mark.usefixtures("reader")
def test_migrate__while_a_table_is_in_use__makes_room_and_ends_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a lock timeout every other statement on the table would wait behind it."""
    monkeypatch.setattr(migrate, "PAUSES", (0,))
    before, errors = settings(), StringIO()
    with pytest.raises(CommandError, match="pg_stat_activity"):
        call_command("migrate", "webhooks", BEFORE, verbosity=0, stderr=errors)
    assert re.findall("trying again in .* s", errors.getvalue()) == ["trying again in 0 s"]
    assert settings() == before


def test_migrate__once_the_table_is_free__finishes(reader: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause is when the service makes progress."""
    monkeypatch.setattr(migrate, "sleep", lambda _seconds: reader.rollback())
    errors = StringIO()
    call_command("migrate", "webhooks", BEFORE, verbosity=0, stderr=errors)
    assert "trying again in 1 s" in errors.getvalue()
