"""
Rows of an outbox, dispatched in batches.

A row that cannot be dispatched stays undispatched, is logged, and is skipped by this process for 600 seconds, so that
it does not delay later rows.
"""

import logging
import time
from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet

from config.base.database import is_away

ONE_BY_ONE = 200  # rows tried singly after a batch failed
POISON_SECONDS = 600

logger = logging.getLogger(__name__)


class Batches:
    """
    One outbox. `waiting` returns its undispatched rows; `dispatch` takes some of them in one transaction.

    `dispatch` returns how many rows it took. `label` names a row in the log.
    """

    def __init__(
        self, label: str, *, waiting: Callable[[], QuerySet[Any]], dispatch: Callable[[QuerySet[Any]], int]
    ) -> None:
        self._label, self._waiting, self._dispatch = label, waiting, dispatch
        self._poison: dict[Any, float] = {}  # in this process only: it saves work and log lines, and decides nothing

    def run_one(self) -> int:
        """Dispatch some of the oldest rows and return how many."""
        rows = self._waiting().exclude(pk__in=self._poison_now()).order_by("pk")
        # Some polls find nothing, and on SQLite a transaction would lock out the writers. Not `exists`, which drops
        # the order: after a long backlog PostgreSQL would read the table instead of the index.
        if rows.values_list("pk", flat=True).first() is None:
            return 0
        try:
            return self._dispatch(rows)
        except Exception as error:
            if is_away(error):
                raise
            logger.exception("dispatching a batch failed; continuing one by one")
            return sum(self._run_row(pk) for pk in list(rows.values_list("pk", flat=True)[:ONE_BY_ONE]))

    def _run_row(self, pk: Any) -> int:
        try:
            return self._dispatch(self._waiting().filter(pk=pk))
        except Exception as error:
            if is_away(error):
                raise
            logger.exception("%s %s cannot be dispatched, retrying in %s s", self._label, pk, POISON_SECONDS)
            self._poison[pk] = time.monotonic() + POISON_SECONDS
            return 0

    def _poison_now(self) -> list[Any]:
        moment = time.monotonic()
        self._poison = {pk: until for pk, until in self._poison.items() if until > moment}
        return list(self._poison)
