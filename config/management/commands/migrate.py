"""
`migrate`, as Django's, without blocking a running service on PostgreSQL.

A change of a table waits for open transactions, and every later statement on that table waits behind it. So it waits
for LOCK_SECONDS only, then makes room and tries again. Statements may take as long as they need.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import sleep
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as MigrateCommand
from django.db import DEFAULT_DB_ALIAS, Error, OperationalError, connections

LOCK_SECONDS = 5
PAUSES = (1, 2, 4, 8, 15, 30)  # seconds between the attempts
LOCK_TIMEOUT, DEADLOCK = "55P03", "40P01"  # SQLSTATEs


class Command(MigrateCommand):
    """Django's command, which gives way to the running service."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate; try again when a lock cannot be had. Raises CommandError after the last attempt."""
        for pause in (*PAUSES, None):
            try:
                with without_pooler(options["database"]), impatient(options["database"]):
                    super().handle(*args, **options)
                return
            except OperationalError as error:
                if getattr(error.__cause__, "sqlstate", "") not in (LOCK_TIMEOUT, DEADLOCK):
                    raise
                if pause is None:
                    raise CommandError(MESSAGE) from error
            self.stderr.write(f"A table is in use; trying again in {pause} s.")
            sleep(pause)


MESSAGE = (
    "A table was in use during every attempt, so a migration is missing. Finished ones are kept. End the transaction "
    "that holds it (SELECT pid, application_name, state, xact_start, query FROM pg_stat_activity ORDER BY xact_start), "
    "then run `manage.py migrate` again."
)


@contextmanager
def without_pooler(alias: str) -> Iterator[None]:
    """
    Lead the default alias to DATABASE_DIRECT_URL, if that is set.

    Behind a pooler the next statement can reach another session, and the timeouts would stay for others.
    """
    if alias != DEFAULT_DB_ALIAS or not settings.DATABASE_DIRECT_URL:
        yield
        return
    before = connections.settings[alias]
    _replace(alias, connections.settings[settings.DIRECT])
    try:
        yield
    finally:
        _replace(alias, before)


def _replace(alias: str, database: dict[str, Any]) -> None:
    connections[alias].close()
    del connections[alias]
    connections.settings[alias] = database


@contextmanager
def impatient(alias: str) -> Iterator[None]:
    """Set the session's timeouts: LOCK_SECONDS for a lock, none for a statement. Back to its own ones at the end."""
    connection = connections[alias]
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
        cursor.execute("SET statement_timeout = 0")
    try:
        yield
    finally:
        with suppress(Error), connection.cursor() as cursor:  # a lost connection has nothing to reset
            cursor.execute("RESET lock_timeout")
            cursor.execute("RESET statement_timeout")
