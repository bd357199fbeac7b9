"""
Everybody who watches, and the one reader that looks for them.

Twice a second one query asks for everything that anybody watches, in a thread of its own; a viewer costs a queue and
nothing else. Ids follow the clock, not the commits: a row with an older id may become visible after a newer one. So the
last seconds are read again each time, and what was told already is dropped.
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

from django.conf import settings
from django.db import Error as DatabaseError

from config.database import drop_broken_connections
from config.ids import first_id_of
from config.times import now
from submissions.live.tokens import Watch, server_sent, submission_event
from submissions.models import Submission

READ_AGAIN = dt.timedelta(seconds=10)  # longer than an INSERT waits for its commit
REPLAYED = dt.timedelta(minutes=10)  # how far back a lost connection is made good; beyond, the page loads its list anew
MOST_REPLAYED = 200  # events to one viewer
MOST_READ = 1_000  # rows of one look
QUEUE = 300  # messages that wait for a slow viewer; more than one replay
RESET = server_sent("reset")
logger = logging.getLogger(__name__)

Message = tuple[uuid.UUID, uuid.UUID, uuid.UUID, bytes]  # submission, organization, form, what is sent


@dataclasses.dataclass(eq=False, slots=True)
class Viewer:
    """One open stream. `after`: what it has seen already; `told` keeps what it was sent lately."""

    watch: Watch
    after: uuid.UUID
    is_new: bool = True
    told: set[uuid.UUID] = dataclasses.field(default_factory=set)
    queue: "asyncio.Queue[bytes | None]" = dataclasses.field(default_factory=lambda: asyncio.Queue(QUEUE))

    def wants(self, message: Message) -> bool:
        """Tell whether a message of its organization is this viewer's to see, and new to it."""
        pk, _, form, _ = message
        return pk not in self.told and self.watch.form_id in (None, form)

    def give(self, message: bytes) -> bool:
        """Put a message into the queue; tell whether there was room."""
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            return False
        return True

    def dismiss(self) -> None:
        """Tell the page to load its list anew, and end the stream: it could not keep up, or was away too long."""
        while not self.queue.empty():
            self.queue.get_nowait()
        self.give(RESET)
        self.queue.put_nowait(None)


class Hub:
    """The viewers of one process. Everything but `_read` runs in the event loop."""

    def __init__(self, read: "Callable[[list[uuid.UUID], uuid.UUID], list[Message]] | None" = None) -> None:
        self.viewers: set[Viewer] = set()
        self._read = read or read_messages
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="live")
        self._reader: asyncio.Task[None] | None = None
        self._looked = now()  # when the last look that succeeded began

    def add(self, watch: Watch, after: uuid.UUID | None) -> Viewer:
        """Begin to serve a viewer: from `after` on, or from now."""
        moment = now()
        viewer = Viewer(watch, after or first_id_of(moment))
        if after and after < first_id_of(moment - REPLAYED):
            viewer.dismiss()
            return viewer
        self.viewers.add(viewer)
        if self._reader is None or self._reader.done():
            self._looked = moment
            self._reader = asyncio.get_running_loop().create_task(self._look_again_and_again())
        return viewer

    def remove(self, viewer: Viewer) -> None:
        """Forget a viewer."""
        self.viewers.discard(viewer)

    def position(self, viewer: Viewer) -> uuid.UUID:
        """Return the id from which a viewer goes on without loss, once its queue is empty: quiet ones move on too."""
        if viewer.is_new:
            return viewer.after
        return max(first_id_of(self._looked - READ_AGAIN), viewer.after, *viewer.told)

    async def _look_again_and_again(self) -> None:
        """Look while anybody watches; then end, and ask the database nothing. An outage is logged once."""
        fails = False
        while self.viewers:
            began = time.monotonic()
            try:
                await self.look()
                fails = False
            except DatabaseError as error:
                if not fails:
                    logger.warning("live stream: the database is away: %s", error)
                fails = True
                await asyncio.get_running_loop().run_in_executor(self._thread, drop_broken_connections)
            except Exception:
                if not fails:
                    logger.exception("live stream: a look failed")
                fails = True
            await asyncio.sleep(max(0.05, settings.EVENTS_POLL_SECONDS - (time.monotonic() - began)))

    async def look(self) -> None:
        """Ask once for everything that is watched, and hand it out."""
        began = now()
        watching = list(self.viewers)
        organizations = sorted({viewer.watch.organization_id for viewer in watching})
        floor = first_id_of(max(self._looked, began - REPLAYED) - READ_AGAIN)
        since = min([floor, *(viewer.after for viewer in watching if viewer.is_new)])
        loop = asyncio.get_running_loop()
        messages = await loop.run_in_executor(self._thread, self._read, organizations, since)
        # A full look has seen the newest rows alone.
        seen_from = messages[0][0] if len(messages) >= MOST_READ else since
        by_organization: defaultdict[uuid.UUID, list[Message]] = defaultdict(list)
        for message in messages:
            by_organization[message[1]].append(message)
        for viewer in watching:
            theirs = by_organization.get(viewer.watch.organization_id, [])
            if viewer in self.viewers and not self._hand_out(viewer, theirs, floor, seen_from):
                viewer.dismiss()
                self.remove(viewer)
        self._looked = began

    def _hand_out(self, viewer: Viewer, messages: list[Message], floor: uuid.UUID, seen_from: uuid.UUID) -> bool:
        """Give a viewer what is new to it; tell whether nothing is missing."""
        if (viewer.after if viewer.is_new else first_id_of(self._looked)) < seen_from:
            return False
        mine = [message for message in messages if viewer.wants(message)]
        # A new one has seen `after` and what was there before; from then on an older id is a row that was committed
        # late. What is below the floor was read for somebody else's replay, and is no longer in `told`.
        start = viewer.after if viewer.is_new else floor
        wanted = [message for message in mine if message[0] > start]
        viewer.is_new = False
        viewer.told = {pk for pk in (*viewer.told, *(message[0] for message in mine)) if pk > floor}
        return len(wanted) <= MOST_REPLAYED and all(viewer.give(message[3]) for message in wanted)


def read_messages(organizations: list[uuid.UUID], since: uuid.UUID) -> list[Message]:
    """Return what arrived in these organizations after an id, spam left out, oldest first. One query."""
    rows = Submission.objects.filter(organization__in=organizations, id__gt=since, spam=False)
    rows = rows.select_related("form").only("id", "organization", "form__name", "data", "created_at", "spam")
    newest = rows.order_by("-id")[:MOST_READ]
    return [
        (row.pk, row.organization_id, row.form_id, submission_event(row, row.form.name)) for row in reversed(newest)
    ]
