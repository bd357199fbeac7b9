"""
The open streams of one process, and the one loop that looks for them: for new submissions, and for keys that ended.

The loop reads counters, one query for all. A stream that has news reads its own messages, when its client takes them.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from django.db import Error as DatabaseError
from django.db import close_old_connections

from config.base.database import drop_broken_connections
from webhooks.listening.messages import REPLAYED, Page, newest_positions, read_page, secret_of
from webhooks.listening.rights import Right, still_usable

POLL_SECONDS = 0.5
CHECK_SECONDS = 4.0  # between two looks at the keys: at most 10 s may pass
LOG_AGAIN_SECONDS = 60.0  # while every poll fails
T = TypeVar("T")
logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Listener:
    """One open stream. `position`: of the last submission that it has passed; `newest`: of the newest one there is."""

    right: Right
    position: int
    newest: int
    news: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def secret(self) -> str:
        return secret_of(self.right.key_id)

    def tell(self, newest: int) -> None:
        if newest > self.position:
            self.newest = newest
            self.news.set()


class Hub:
    """The streams of this process. Its methods run in the event loop, and their queries in one thread."""

    def __init__(self) -> None:
        self.listeners: set[Listener] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="listening")
        self._loop: asyncio.Task[None] | None = None
        self._logged_at = float("-inf")

    def add(self, right: Right) -> Listener:
        listener = Listener(right, right.position, right.position)
        self.listeners.add(listener)
        if self._loop is None or self._loop.done():
            self._loop = asyncio.get_running_loop().create_task(self._poll_while_open())
        return listener

    def remove(self, listener: Listener) -> None:
        self.listeners.discard(listener)

    async def query(self, work: Callable[..., T], *args: Any, **named: Any) -> T:
        """Return the result of a function that asks the database."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(_asked, work, *args, **named))

    async def next_page(self, listener: Listener) -> Page:
        right, to = listener.right, listener.newest
        since = right.opened_at - REPLAYED
        of = {"test": right.is_test, "after": listener.position, "to": to, "since": since, "secret": listener.secret}
        return await self.query(read_page, right.organization_id, right.form_id, **of)

    async def _poll_while_open(self) -> None:
        checked_at = time.monotonic()
        while self.listeners:
            began = time.monotonic()
            try:
                if began - checked_at >= CHECK_SECONDS:
                    await self._end_unusable()
                    checked_at = began
                await self._tell_news()
            except Exception as error:
                self._note_failure(error)
            await asyncio.sleep(max(0.05, POLL_SECONDS - (time.monotonic() - began)))

    async def _tell_news(self) -> None:
        watched = {listener.right.organization_id for listener in self.listeners}
        newest = await self.query(newest_positions, watched)
        for listener in self.listeners:
            listener.tell(newest.get((listener.right.organization_id, listener.right.is_test), 0))

    async def _end_unusable(self) -> None:
        listeners = list(self.listeners)
        usable = await self.query(still_usable, [listener.right for listener in listeners])
        for listener in listeners:
            if (listener.right.key_id, listener.right.digest) not in usable:
                listener.ended.set()

    def _note_failure(self, error: Exception) -> None:
        """Log the first failed poll, and then one a minute."""
        if time.monotonic() - self._logged_at < LOG_AGAIN_SECONDS:
            return
        self._logged_at = time.monotonic()
        if isinstance(error, DatabaseError):
            logger.warning("listening: the database is unavailable: %s", error)
        else:
            logger.error("listening: a poll failed", exc_info=error)


def _asked(work: Callable[..., T], *args: Any, **named: Any) -> T:
    close_old_connections()
    try:
        return work(*args, **named)
    except Exception:
        drop_broken_connections()
        raise
