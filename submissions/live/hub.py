"""
The viewers of the live stream, and the one reader that polls for all of them.

Twice a second one read, in a separate thread, finds everything that is watched; a viewer costs a queue and nothing
else. Ids follow the clock, not the commits: a row with an older id may become visible after a newer one. So each poll
reads the last seconds again, and rows that were sent already are dropped.
"""

import asyncio
import dataclasses
import datetime as dt
import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import Error as DatabaseError

from config.base.database import drop_broken_connections
from config.base.ids import first_id_of
from config.base.times import now
from keys.seen_forms import SeenForms
from submissions.live.reader import MOST_READ, Message, Reader
from submissions.live.rights import seen_by_members
from submissions.live.tokens import Watch, server_sent

POLL_SECONDS = 0.5
CHECK_SECONDS = 5.0  # between two looks at the rights of viewers: at most 10 s may pass (docs/contract.md 2.70)
READ_AGAIN = dt.timedelta(seconds=10)  # longer than an INSERT waits for its commit
REPLAYED = dt.timedelta(minutes=10)  # how far back a lost connection is replayed; beyond, the page reloads its list
MOST_REPLAYED = 200  # events to one viewer
QUEUE = 300  # messages that wait for a slow viewer; more than one replay
LOG_AGAIN_SECONDS = 60.0  # while every poll fails
RESET = server_sent("reset")
logger = logging.getLogger(__name__)


@dataclasses.dataclass(eq=False, slots=True)
class Viewer:
    """
    One open stream. `after`: the last submission it has seen; `seen`: the forms that its person sees; `sent`: the ids
    sent recently.
    """

    watch: Watch
    after: uuid.UUID
    seen: SeenForms
    is_new: bool = True
    sent: set[uuid.UUID] = dataclasses.field(default_factory=set)
    queue: "asyncio.Queue[bytes | None]" = dataclasses.field(default_factory=lambda: asyncio.Queue(QUEUE))

    def wants(self, message: Message) -> bool:
        """Return whether a message of its organization is for this viewer, and new to it."""
        pk, _, form, _ = message
        return pk not in self.sent and self.watch.form_id in (None, form) and self.seen.includes(form)

    def give(self, message: bytes) -> bool:
        """Put a message into the queue; return whether there was room."""
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            return False
        return True

    def dismiss(self) -> None:
        """Make the page reload its list, and end the stream: it is too slow, or its person sees other forms now."""
        while not self.queue.empty():
            self.queue.get_nowait()
        self.give(RESET)
        self.queue.put_nowait(None)


class Hub:
    """
    The viewers of one process. Everything but `read` runs in the event loop.

    `polls`: whether it polls by itself while there are viewers; otherwise its caller does. `failed`: polls that have
    failed in a row, shown at `/healthz`.
    """

    def __init__(
        self, read: "Callable[[list[uuid.UUID], uuid.UUID], list[Message]] | None" = None, *, polls: bool = True
    ) -> None:
        self.viewers: set[Viewer] = set()
        self._read = read or Reader().read
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="live")
        self._polls = polls
        self.reader: asyncio.Task[None] | None = None
        self.failed = 0
        self._logged_at = 0.0
        self._checked_at = time.monotonic()
        self.polled_at = now()  # start of the last successful poll

    def add(self, watch: Watch, after: uuid.UUID | None, seen: SeenForms | None = None) -> Viewer:
        """Start to serve a viewer: from `after` on, or from now. `seen`: None for every form."""
        moment = now()
        viewer = Viewer(watch, after or first_id_of(moment), seen or SeenForms(watch.organization_id))
        if after and after < first_id_of(moment - REPLAYED):
            viewer.dismiss()
            return viewer
        self.viewers.add(viewer)
        if self._polls and (self.reader is None or self.reader.done()):
            self.polled_at = moment
            self.reader = asyncio.get_running_loop().create_task(self._poll_while_watched())
        return viewer

    def remove(self, viewer: Viewer) -> None:
        self.viewers.discard(viewer)

    def position(self, viewer: Viewer) -> uuid.UUID:
        """Return the id from which a viewer with an empty queue can continue without loss, even if nothing was sent."""
        if viewer.is_new:
            return viewer.after
        return max(first_id_of(self.polled_at - READ_AGAIN), viewer.after, *viewer.sent)

    async def _poll_while_watched(self) -> None:
        """Poll while there are viewers, then end."""
        while self.viewers:
            began = time.monotonic()
            try:
                await self.poll()
                self.failed = 0
            except Exception as error:
                self._note_failure(error)
                await asyncio.get_running_loop().run_in_executor(self._thread, drop_broken_connections)
            await asyncio.sleep(max(0.05, POLL_SECONDS - (time.monotonic() - began)))
        self.failed = 0

    def _note_failure(self, error: Exception) -> None:
        """Count a failed poll. Log the first one in a row, and then one a minute."""
        self.failed += 1
        if self.failed > 1 and time.monotonic() - self._logged_at < LOG_AGAIN_SECONDS:
            return
        self._logged_at = time.monotonic()
        if isinstance(error, DatabaseError):
            logger.warning("live stream: the database is unavailable: %s", error, extra={"failed": self.failed})
        else:
            logger.error("live stream: a poll failed", exc_info=error, extra={"failed": self.failed})

    async def poll(self) -> None:
        """Read everything that is watched, and distribute it to those who may still see it."""
        began = now()
        if time.monotonic() - self._checked_at > CHECK_SECONDS:
            await self._dismiss_changed()
        watching = list(self.viewers)
        organizations = sorted({viewer.watch.organization_id for viewer in watching})
        floor = first_id_of(max(self.polled_at, began - REPLAYED) - READ_AGAIN)
        since = min([floor, *(viewer.after for viewer in watching if viewer.is_new)])
        loop = asyncio.get_running_loop()
        messages = await loop.run_in_executor(self._thread, self._read, organizations, since)
        # A poll that is full has seen only the newest rows.
        seen_from = messages[0][0] if len(messages) >= MOST_READ else since
        by_organization: defaultdict[uuid.UUID, list[Message]] = defaultdict(list)
        for message in messages:
            by_organization[message[1]].append(message)
        for viewer in watching:
            theirs = by_organization.get(viewer.watch.organization_id, [])
            if viewer in self.viewers and not self._hand_out(viewer, theirs, floor, seen_from):
                viewer.dismiss()
                self.remove(viewer)
        self.polled_at = began

    async def _dismiss_changed(self) -> None:
        """End the streams of people who are no members any more, or who see other forms than when they opened."""
        watching = [viewer for viewer in self.viewers if viewer.watch.session_key]
        self._checked_at = time.monotonic()
        if not watching:
            return
        watches = [viewer.watch for viewer in watching]
        found = await asyncio.get_running_loop().run_in_executor(self._thread, seen_by_members, watches)
        for viewer in watching:
            if found.get((viewer.watch.user_id, viewer.watch.organization_id)) != viewer.seen:
                viewer.dismiss()
                self.remove(viewer)

    def _hand_out(self, viewer: Viewer, messages: list[Message], floor: uuid.UUID, seen_from: uuid.UUID) -> bool:
        """Give a viewer its new messages; return whether none is missing."""
        if (viewer.after if viewer.is_new else first_id_of(self.polled_at)) < seen_from:
            return False
        mine = [message for message in messages if viewer.wants(message)]
        # A new viewer has seen `after` and everything before it; from then on an older id is a row that was committed
        # late. Rows below the floor were read for another viewer's replay, and are no longer in `sent`.
        start = viewer.after if viewer.is_new else floor
        wanted = [message for message in mine if message[0] > start]
        viewer.is_new = False
        viewer.sent = {pk for pk in (*viewer.sent, *(message[0] for message in mine)) if pk > floor}
        return len(wanted) <= MOST_REPLAYED and all(viewer.give(message[3]) for message in wanted)
