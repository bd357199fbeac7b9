"""
Changes of the schema under a lock that all requests wait for: granted soon, held for milliseconds, or given up.

A statement that waits for a lock makes every later one wait behind it. So it waits for less than a second, makes room,
and tries again. Less than `deadlock_timeout`, too: of two that wait for each other, a request never is the one to fail.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from django.db import OperationalError, connection, transaction

from config.database import sqlstate

LOCK_MILLISECONDS = 800
HELD_MILLISECONDS = 5_000  # at most, for each statement
PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)  # seconds between the attempts
GIVEN_UP = ("55P03", "40P01", "57014")  # lock timeout, deadlock, statement timeout


class TableInUse(Exception):
    """Other transactions held the table during every attempt. Nothing has changed."""


def briefly(act: Callable[[Any], None], *locks: str, pauses: Sequence[float] = PAUSES) -> None:
    """
    Run `act`, with a cursor, in a transaction that first takes `locks` such as `a, b IN SHARE MODE`.

    Tries again after each of `pauses`. Raises TableInUse.
    """
    for pause in (*pauses, None):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(
                    "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)",
                    [f"{LOCK_MILLISECONDS}ms", f"{HELD_MILLISECONDS}ms"],
                )
                for lock in locks:
                    cursor.execute(f"LOCK TABLE {lock}")
                act(cursor)
            return
        except OperationalError as error:
            if sqlstate(error) not in GIVEN_UP:
                raise
            if pause is None:
                raise TableInUse("Submissions were in use by other transactions during every attempt.") from error
        time.sleep(pause)
