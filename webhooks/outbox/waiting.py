"""
Whether there is any work at all, and the due deliveries that a claim chooses from.

Most of the time, and always while few wait, these are the oldest ones. A long backlog of one organization, or of an
endpoint that is slow, would hide all others there. So when many wait, a walk over the queues finds the oldest of each.
A queue is the pending deliveries of one organization to one target; an index leads to its first row, whatever its
length (https://wiki.postgresql.org/wiki/Loose_indexscan).
"""

import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Q, QuerySet

from config.base.database import as_uuid, database_id, now_in_sql
from keys.models import Notice, Organization
from submissions.models import Submission, SubmitterMail
from webhooks.enqueue import MAIL
from webhooks.events import URGENT
from webhooks.models import Delivery
from webhooks.outbox.shares import Candidate, Place, Slots, suspicion

OLDEST = 128  # due deliveries that are read before the queues are
QUEUES_WALKED = 256  # in one walk; the next one goes on behind them
QUEUES_READ = 64  # that have due deliveries
ROWS = 256  # deliveries of the queues of one walk
ROWS_OF_QUEUE = 32  # the most requests in flight to one target
KEPT_SECONDS = 0.2  # newer and more urgent deliveries wait for so long
ENOUGH = 64  # fewer candidates are not kept, so that few deliveries are always read again

Queue = tuple[uuid.UUID, Place]  # organization, channel and target
_START: Queue = (uuid.UUID(int=0), ("", ""))
_TABLE = Delivery._meta.db_table
# One statement of plain text: a loop without work runs no other, and building a queryset takes longer than running it.
# Where there is an order, it makes PostgreSQL use the index, whatever it believes about the number of rows. By what it
# learned during a long backlog, it would read the whole table in each round, also when the backlog is gone.
_FIRST = "(SELECT 1 FROM {table} WHERE {mark} IS NULL ORDER BY id LIMIT 1) IS NOT NULL"
_FIRST_DUE = (
    f"(SELECT 1 FROM {_TABLE} WHERE status = 'pending' AND next_attempt_at <= {{now}} AND lease_token IS NULL "  # noqa: S608 - names from code
    "ORDER BY next_attempt_at LIMIT 1) IS NOT NULL"
)
_WORK = (
    f"SELECT {_FIRST.format(table=Submission._meta.db_table, mark='dispatched_at')}, "  # noqa: S608 - names from code
    f"{_FIRST.format(table=Notice._meta.db_table, mark='dispatched_at')}, "
    f"{_FIRST.format(table=SubmitterMail._meta.db_table, mark='decided_at')}, "
    f"EXISTS (SELECT 1 FROM {_TABLE} WHERE lease_token IS NOT NULL AND lease_until < {{now}}), {_FIRST_DUE}"
)
_COLUMNS = "id, organization_id, channel, target, host, lost_claims"
_FIRST_AFTER = (
    f"SELECT n.id FROM {_TABLE} n WHERE n.status = 'pending' "  # noqa: S608 - names from code
    "AND (n.organization_id, n.channel, n.target) > ({}) "
    "ORDER BY n.organization_id, n.channel, n.target, n.next_attempt_at LIMIT 1"
)
_WALK = (
    "WITH RECURSIVE queue (organization_id, channel, target, next_attempt_at) AS ("  # noqa: S608 - names from code
    f"SELECT d.organization_id, d.channel, d.target, d.next_attempt_at FROM {_TABLE} d "
    f"WHERE d.id = ({_FIRST_AFTER.format('%s, %s, %s')}) UNION ALL "
    f"SELECT d.organization_id, d.channel, d.target, d.next_attempt_at FROM queue q JOIN {_TABLE} d "
    f"ON d.id = ({_FIRST_AFTER.format('q.organization_id, q.channel, q.target')})) "
    "SELECT queue.organization_id, channel, target, next_attempt_at <= {now} AND o.suspended_at IS NULL "
    f"FROM queue JOIN {Organization._meta.db_table} o ON o.id = queue.organization_id LIMIT %s"
)
_OLDEST_OF_QUEUE = (
    f"(SELECT {_COLUMNS} FROM {_TABLE} WHERE status = 'pending' "  # noqa: S608 - names from code
    "AND organization_id = {} AND channel = {} AND target = {} AND next_attempt_at <= {now} "
    "AND lease_token IS NULL ORDER BY next_attempt_at LIMIT {rows})"
)


class Work(NamedTuple):
    """Whether there may be some of each kind. A row that has to wait for something else counts, too."""

    submissions: bool
    notices: bool
    submitter_mails: bool
    abandoned: bool
    due: bool


def look_for_work() -> Work:
    """Return what there may be to do now, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(_WORK.format(now=now_in_sql()), [])
        return Work(*map(bool, cursor.fetchone()))


def kinds_with(room: Slots) -> Q:
    if room.others > 0 and room.mails > 0:
        return Q()
    if room.mails > 0:
        return Q(channel=MAIL)
    return ~Q(channel=MAIL) if room.others > 0 else Q(pk__in=[])


class Waiting:
    """
    Reads candidates, each time from where the last walk ended. `suspended`: owners whose due deliveries it met.

    While many wait, candidates that were not claimed are kept for KEPT_SECONDS: most claims of a backlog read none.
    """

    def __init__(self) -> None:
        self.suspended: set[uuid.UUID] = set()
        self._after = _START
        self._kept: dict[uuid.UUID, Candidate] = {}
        self._kept_room, self._kept_until = Slots(0, 0), 0.0

    def kept(self, room: Slots) -> list[Candidate]:
        """Return the candidates that are left of the last time, if they are enough and recent."""
        self.suspended = set()
        known = self._kept_room
        has_all_kinds = known.others >= min(room.others, 1) and known.mails >= min(room.mails, 1)
        is_recent = time.monotonic() < self._kept_until
        return list(self._kept.values()) if len(self._kept) >= ENOUGH and is_recent and has_all_kinds else []

    def drop(self, candidates: Iterable[Candidate]) -> None:
        """Keep these no longer: they were claimed, here or by others."""
        for each in candidates:
            self._kept.pop(each.pk, None)

    def candidates(self, room: Slots) -> list[Candidate]:
        """Return due deliveries that there is room for: urgent ones, the oldest, and if many wait, those of queues."""
        found = self._from_database(room)
        self._kept, self._kept_room = {each.pk: each for each in found}, room
        self._kept_until = time.monotonic() + KEPT_SECONDS
        return found

    def _from_database(self, room: Slots) -> list[Candidate]:
        self.suspended = set()
        due = Delivery.objects.claimable().filter(kinds_with(room))
        # Two queries, because each has its index; one order by both would sort all that is due. Those with a priority
        # come first, so each is also the first of its target.
        urgent = due.filter(priority__gt=0).order_by("-priority", "next_attempt_at", "id")
        first = _read(urgent)
        if len(first) == OLDEST:  # codes, which anybody can ask for, would hide those of organizations
            first = list({row[0]: row for row in [*first, *_read(urgent.filter(organization__isnull=False))]}.values())
        rows = _read(due.filter(priority__lte=0).order_by("next_attempt_at", "id"))
        found = [*self._candidates(first), *self._candidates(rows)]
        if len(rows) < OLDEST:
            return found
        known = {each.pk for each in found}
        return found + [each for each in self._of_queues(room) if each.pk not in known]

    def _candidates(self, rows: Sequence[Any]) -> Iterator[Candidate]:
        for pk, owner, channel, target, host, lost_claims, priority, suspended_at in rows:
            if suspended_at is not None:
                self.suspended.add(owner)
            else:
                place, kinds = (channel, target), (priority >= URGENT, owner is None)
                yield Candidate(pk, owner or target, place, host, *kinds, suspicion(lost_claims))

    def _of_queues(self, room: Slots) -> list[Candidate]:
        queues = self._next_queues(room)
        if not queues:
            return []
        statement = _oldest_of_queues(len(queues), max(1, min(ROWS_OF_QUEUE, ROWS // len(queues))))
        with connection.cursor() as cursor:
            cursor.execute(statement, [part for owner, place in queues for part in (database_id(owner), *place)])
            return [
                Candidate(as_uuid(pk), as_uuid(owner), (channel, target), host, suspicion=suspicion(lost_claims))
                for pk, owner, channel, target, host, lost_claims in cursor.fetchall()
            ]

    def _next_queues(self, room: Slots) -> list[Queue]:
        """Return the next queues with a due delivery, at most `QUEUES_READ`; suspended organizations are left out."""
        queues: list[Queue] = []
        heads = self._walk()
        for owner, channel, target, is_due in heads:
            self._after = (as_uuid(owner), (channel, target))
            if is_due and (room.mails if channel == MAIL else room.others):
                queues.append(self._after)
            if len(queues) == QUEUES_READ:
                return queues
        if len(heads) < QUEUES_WALKED:
            self._after = _START
        return queues

    def _walk(self) -> list[Any]:
        """Return organization, channel and target of the next queues, and whether their first delivery may be sent."""
        organization, place = self._after
        with connection.cursor() as cursor:
            cursor.execute(_WALK.format(now=now_in_sql()), [database_id(organization), *place, QUEUES_WALKED])
            return list(cursor.fetchall())


def _oldest_of_queues(queues: int, rows: int) -> str:
    """Return the statement for so many rows of each of so many queues."""
    limits = {"now": now_in_sql(), "rows": rows}
    if connection.vendor == "postgresql":  # it plans a UNION of 64 for longer than it takes to run
        own = _OLDEST_OF_QUEUE.format("queue.organization_id", "queue.channel", "queue.target", **limits)
        named = f"(VALUES {', '.join(['(%s, %s, %s)'] * queues)}) queue (organization_id, channel, target)"
        return f"SELECT oldest.* FROM {named} CROSS JOIN LATERAL {own} oldest"  # noqa: S608 - names from code
    own = _OLDEST_OF_QUEUE.format("%s", "%s", "%s", **limits)
    return " UNION ALL ".join([f"SELECT * FROM {own} oldest"] * queues)  # noqa: S608 - names from code


def _read(rows: QuerySet[Delivery]) -> list[Any]:
    columns = ("pk", "organization_id", "channel", "target", "host", "lost_claims", "priority")
    return list(rows.values_list(*columns, "organization__suspended_at")[:OLDEST])
