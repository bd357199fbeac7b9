"""
Claiming due deliveries (docs/adr/0109, docs/adr/0045).

A claim is a lease: a token and an end, written in a short transaction, and renewed while its process lives
(`heartbeat.py`). Sending happens outside any transaction, and a result counts only while the row still has the token,
so a worker that died or was overtaken changes nothing. Every time is the database's, in SQL.
"""

import dataclasses
import datetime as dt
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet, Sum
from django.db.models.functions import Now

from config.base.database import as_uuid, database_id, now_in_sql
from config.base.ids import Prefix, decode_id, encode_id
from webhooks.channels.registry import CHANNELS
from webhooks.enqueue import MAIL
from webhooks.mails.allowance import split_by_allowance
from webhooks.models import IN_FLIGHT, WEBHOOK, DelivererSlots, Delivery, Receiver
from webhooks.outbox.shares import NO_LIMIT, SUSPECTS, Candidate, InFlight, Limit, Place, Shares, Slots, suspicion
from webhooks.outbox.suspended import postpone
from webhooks.outbox.waiting import Waiting

SLOTS_SECONDS = 1.0  # for which the slots of all hosts are known
UNREAD_OF_SUBMISSION = (  # of messages to webhooks
    "data", "search_text", "controls", "meta", "spam_reasons", "held", "held_until", "released_at", "dispatched_at",
)  # fmt: skip
LOCK_NOT_AVAILABLE = "55P03"  # SQLSTATE
# Deliverers claim one after the other, so that shares hold over all hosts. A frozen deliverer loses its session after
# 5 s, and the others try again after 1 s. The number only has to differ from those of other advisory locks.
_LOCK = (
    "SELECT set_config('lock_timeout', '1s', true), set_config('idle_in_transaction_session_timeout', '5s', true), "
    "pg_advisory_xact_lock(4512201)"
)
_CLOSED, _PROBE_DUE, _OPEN = 0, 1, 2  # circuits
# One statement for both: every claim needs them, most often under the lock.
_LIVE = f"FROM {Delivery._meta.db_table} d WHERE d.lease_token IS NOT NULL AND d.lease_until >= {{now}}"
_LIVE_AND_LIMITS = (
    "SELECT d.organization_id AS id, d.channel, d.target, d.host, count(*) AS number, CAST(NULL AS integer) AS circuit "  # noqa: S608 - names from code
    f"{_LIVE} GROUP BY d.organization_id, d.channel, d.target, d.host "
    f"UNION ALL SELECT w.id, '', '', '', w.in_flight_limit, CASE WHEN w.probe_at IS NULL THEN {_CLOSED} "
    f"WHEN w.probe_at <= {{now}} THEN {_PROBE_DUE} ELSE {_OPEN} END "
    f"FROM {Receiver._meta.db_table} w "
    f"WHERE w.kind = '{WEBHOOK}' AND (w.id IN (SELECT d.receiver_id {_LIVE}) {{named}})"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """A delivery taken by its `token`. It is loaded with what its channel renders, and prepared by its channel."""

    delivery: Delivery
    token: uuid.UUID


class Claimer:
    """Takes due deliveries for one process. `own`: all slots that it has."""

    def __init__(self, own: Slots | None = None) -> None:
        self._own = own or Slots(settings.DELIVERY_CONCURRENCY, settings.MAIL_CONCURRENCY)
        self._waiting = Waiting()
        self._suspects = 0  # places that those in flight take
        self.takes_suspects = True
        self._took_some = False  # the last time: then the next claim will, too
        self._slots, self._slots_until = self._own, 0.0

    def claim(self, room: Slots) -> list[Claim]:
        """Take deliveries within all shares and limits, no more than `room`: each must start immediately."""
        while room.others > 0 or room.mails > 0:
            kept = self._waiting.kept(room)
            if kept and (claims := self._claim_of(kept, room)[0]):
                return claims
            claims, met_others = self._claim_of(self._waiting.candidates(room), room)
            if claims or not met_others:
                return claims
            # Suspended ones were in front, or mails over their allowance, which wait now: others may be due.
        return []

    def release(self, claim: Claim) -> None:
        """Count it no longer as in flight: it was sent."""
        self._suspects -= suspicion(claim.delivery.lost_claims)

    def _claim_of(self, candidates: Sequence[Candidate], room: Slots) -> tuple[list[Claim], bool]:
        """Take some of these. Return them, and whether some that must wait were moved out of the way."""
        token = uuid.uuid4()
        taken = self._take(candidates, room, token) if candidates else []
        self._waiting.drop(taken)
        postponed = postpone(self._waiting.suspended) if self._waiting.suspended else 0
        claims = _claims(token, {each.place[0] for each in taken}) if taken else []
        self._suspects += sum(suspicion(claim.delivery.lost_claims) for claim in claims)
        return claims, bool(taken or postponed)

    def _take(self, candidates: Sequence[Candidate], room: Slots, token: uuid.UUID) -> list[Candidate]:
        """Lease what may start, and return it."""
        if not self._took_some and not self._choose(candidates, room):
            return []  # most polls end here while targets are full: no transaction, no lock
        self._took_some = False
        try:
            with transaction.atomic():
                if connection.vendor == "postgresql":
                    connection.cursor().execute(_LOCK)
                chosen = self._choose(candidates, room)
                # claimable() again: the candidates were read before the lock.
                lease_until = Now() + dt.timedelta(seconds=settings.DELIVERY_LEASE_SECONDS)
                rows = Delivery.objects.claimable().filter(pk__in=[each.pk for each in chosen])
                # Without those that a deletion holds: all claims would wait for them behind this one's lock.
                free = rows.locked(skips=True)
                self._took_some = bool(chosen and free.update(lease_token=token, lease_until=lease_until))
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) != LOCK_NOT_AVAILABLE:
                raise
        return chosen if self._took_some else []

    def _choose(self, candidates: Sequence[Candidate], room: Slots) -> list[Candidate]:
        """Return what may start now, by the deliveries in flight over all hosts."""
        live, limits = _live_and_limits({each.place for each in candidates})
        slots = self._slots_of_all_hosts()
        suspects = self._suspects if self.takes_suspects else SUSPECTS
        chosen: list[Candidate] = []
        for is_mail in (False, True):
            in_flight = InFlight(suspects=suspects + sum(each.suspicion for each in chosen))
            for row in live:
                if row.is_mail is is_mail:
                    limit = limits.get(row.place, NO_LIMIT)
                    in_flight.add(row.owner, row.place, row.host, limit, row.number, is_asked=row.is_asked)
            number, free = (slots.mails, room.mails) if is_mail else (slots.others, room.others)
            shares = Shares(slots=number, room=free, in_flight=in_flight, limits=limits)
            chosen += shares.choose(each for each in candidates if each.is_mail is is_mail)
        return chosen

    def _slots_of_all_hosts(self) -> Slots:
        """Return the slots of all living processes, as they were a second ago; at least this one's."""
        if time.monotonic() >= self._slots_until:
            living = DelivererSlots.objects.filter(alive_until__gte=Now())
            sums = living.aggregate(others=Sum("slots"), mails=Sum("mail_slots"))
            self._slots = Slots(max(self._own.others, sums["others"] or 0), max(self._own.mails, sums["mails"] or 0))
            self._slots_until = time.monotonic() + SLOTS_SECONDS
        return self._slots


class _Live(NamedTuple):
    owner: uuid.UUID | str
    place: Place
    host: str
    number: int

    @property
    def is_mail(self) -> bool:
        return self.place[0] == MAIL

    @property
    def is_asked(self) -> bool:
        return isinstance(self.owner, str)


def _live_and_limits(places: Collection[Place]) -> tuple[list[_Live], dict[Place, Limit]]:
    """
    Return the deliveries in flight, and the limits of their targets and of `places`; others have none.

    While the circuit of a webhook is open, its limit is one attempt when the next probe is due.
    """
    webhooks = [target for channel, target in places if channel == WEBHOOK]
    ids = [database_id(decode_id(Prefix.WEBHOOK, target)) for target in webhooks]
    named = f"OR w.id IN ({', '.join(['%s'] * len(ids))})" if ids else ""
    with connection.cursor() as cursor:
        cursor.execute(_LIVE_AND_LIMITS.format(now=now_in_sql(), named=named), ids)
        rows = cursor.fetchall()
    live, limits = [], {}
    for pk, channel, target, host, number, circuit in rows:
        if circuit is None:
            owner = target if pk is None else as_uuid(pk)
            live.append(_Live(owner, (channel, target), host, number))
        else:
            place = (WEBHOOK, encode_id(Prefix.WEBHOOK, as_uuid(pk)))
            in_flight = {_CLOSED: number, _PROBE_DUE: 1, _OPEN: 0}[circuit]
            limits[place] = Limit(in_flight, is_proven=number > IN_FLIGHT)
    return live, limits | _limits_of_others({*places, *(row.place for row in live)})


def _limits_of_others(places: Collection[Place]) -> dict[Place, Limit]:
    targets: dict[str, set[str]] = defaultdict(set)
    for name, target in places:
        if name != WEBHOOK and name in CHANNELS:
            targets[name].add(target)
    return {
        (name, target): Limit(requests)
        for name, named in targets.items()
        for target, requests in CHANNELS[name].requests_to(named).items()
    }


def _claims(token: uuid.UUID, channels: Collection[str]) -> list[Claim]:
    """Return the leased deliveries that may be sent now, loaded and prepared: urgent ones first, then the oldest."""
    rows = Delivery.objects.filter(lease_token=token).order_by("-priority", "next_attempt_at", "id")
    loaded = split_by_allowance(_of_others(rows), token) if set(channels) - {WEBHOOK} else []
    loaded += _of_webhooks(rows) if WEBHOOK in channels else []
    for name, channel in CHANNELS.items():
        if together := [delivery for delivery in loaded if delivery.channel == name]:
            channel.prepare(together)
    return [Claim(delivery, token) for delivery in loaded]


def _of_webhooks(rows: QuerySet[Delivery]) -> list[Delivery]:
    """Return deliveries to webhooks. Their message is sent as it is, so most of the submission is not read."""
    unread = (*(f"submission__{name}" for name in UNREAD_OF_SUBMISSION), "message__secret", "message__created_at")
    deliveries = list(rows.filter(channel=WEBHOOK).select_related("message", "submission").defer(*unread))
    # Each webhook once: decrypting its secrets takes longer than reading it.
    webhooks = Receiver._base_manager.in_bulk({delivery.receiver_id for delivery in deliveries})
    there = [delivery for delivery in deliveries if delivery.receiver_id in webhooks]  # the others were just deleted
    for delivery in there:
        delivery.receiver = webhooks[delivery.receiver_id]
    return there


def _of_others(rows: QuerySet[Delivery]) -> list[Delivery]:
    return list(rows.exclude(channel=WEBHOOK).select_related("message", "submission__form", "organization", "receiver"))
