"""
Claiming due deliveries (docs/adr/0003, docs/adr/0045).

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
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Now

from config.ids import Prefix, decode_id
from webhooks.channels.registry import CHANNELS
from webhooks.enqueue import MAIL, WEBHOOK
from webhooks.mails.allowance import split_by_allowance
from webhooks.models import IN_FLIGHT, DelivererSlots, Delivery, Webhook
from webhooks.outbox.shares import NO_LIMIT, Candidate, InFlight, Limit, Place, Shares, Slots
from webhooks.outbox.suspended import postpone
from webhooks.outbox.waiting import Waiting

SLOTS_SECONDS = 1.0  # for which the slots of all hosts are known
LOCK_NOT_AVAILABLE = "55P03"  # SQLSTATE
# One claimer at a time, so that shares hold over all hosts. A frozen one loses its session after 5 s, and the others
# try again after 1 s. The number only has to differ from those of other advisory locks.
_LOCK = (
    "SELECT set_config('lock_timeout', '1s', true), set_config('idle_in_transaction_session_timeout', '5s', true), "
    "pg_advisory_xact_lock(4512201)"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """A delivery taken by its `token`. It is loaded with what its channel renders, and prepared by its channel."""

    delivery: Delivery
    token: uuid.UUID


class Claimer:
    """Takes due deliveries for one process. `own`: all slots that it has."""

    def __init__(self, own: Slots | None = None, *, alone: bool = False) -> None:
        """`alone`: take deliveries whose last claim ended without a result, and no others."""
        self._own = own or Slots(settings.DELIVERY_CONCURRENCY, settings.MAIL_CONCURRENCY)
        self._alone = alone
        self._waiting = Waiting()
        self._took_some = False  # the last time: then the next claim will, too
        self._slots, self._slots_until = self._own, 0.0

    def claim(self, room: Slots) -> list[Claim]:
        """Take deliveries within all shares and limits, no more than `room`: each must start immediately."""
        while room.others > 0 or room.mails > 0:
            candidates = self._waiting.candidates(room, alone=self._alone)
            token = uuid.uuid4()
            taken = self._take(candidates, room, token) if candidates else []
            postponed = postpone(self._waiting.suspended) if self._waiting.suspended else 0
            claims = _claims(token, {each.place[0] for each in taken}) if taken else []
            if claims or not (taken or postponed):
                return claims
            # Suspended ones were in front, or mails over their allowance, which wait now: others may be due.
        return []

    def _take(self, candidates: Sequence[Candidate], room: Slots, token: uuid.UUID) -> list[Candidate]:
        """Lease what may start, and return it."""
        if not self._took_some and not self._choose(candidates, room):
            return []  # most polls end here while targets are full: no transaction, no lock
        self._took_some = False
        try:
            with transaction.atomic():
                if connection.vendor == "postgresql":
                    with connection.cursor() as cursor:
                        cursor.execute(_LOCK)
                chosen = self._choose(candidates, room)
                # claimable() again: the candidates were read before the lock.
                lease_until = Now() + dt.timedelta(seconds=settings.DELIVERY_LEASE_SECONDS)
                rows = Delivery.objects.claimable(alone=self._alone).filter(pk__in=[each.pk for each in chosen])
                self._took_some = bool(chosen and rows.update(lease_token=token, lease_until=lease_until))
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) != LOCK_NOT_AVAILABLE:
                raise
        return chosen if self._took_some else []

    def _choose(self, candidates: Sequence[Candidate], room: Slots) -> list[Candidate]:
        """Return what may start now, by the deliveries in flight over all hosts."""
        live = _live()
        limits = _limits({each.place for each in candidates} | {row.place for row in live})
        slots = self._slots_of_all_hosts()
        chosen: list[Candidate] = []
        for is_mail in (False, True):
            in_flight = InFlight()
            for row in live:
                if row.is_mail is is_mail:
                    in_flight.add(row.owner, row.place, row.host, limits.get(row.place, NO_LIMIT), row.number)
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
    """Deliveries in flight to one target."""

    owner: uuid.UUID | str
    place: Place
    host: str
    number: int

    @property
    def is_mail(self) -> bool:
        return self.place[0] == MAIL


def _live() -> list[_Live]:
    leased = Delivery.objects.filter(lease_token__isnull=False, lease_until__gte=Now()).order_by()
    rows = leased.values_list("organization_id", "channel", "target", "host").annotate(live=Count("pk"))
    return [_Live(owner or target, (channel, target), host, live) for owner, channel, target, host, live in rows]


def _limits(places: Collection[Place]) -> dict[Place, Limit]:
    """Return the limits of these targets; one that is not in the result has none."""
    by_channel: dict[str, list[str]] = defaultdict(list)
    for channel, target in places:
        by_channel[channel].append(target)
    limits = _limits_of_webhooks(by_channel.pop(WEBHOOK, []))
    for name, targets in by_channel.items():
        if name in CHANNELS and (requests := CHANNELS[name].in_flight) is not None:
            limits |= {(name, target): Limit(requests * CHANNELS[name].batch) for target in targets}
    return limits


def _limits_of_webhooks(targets: Sequence[str]) -> dict[Place, Limit]:
    """Return each webhook's limit; while its circuit is open, one attempt when the next probe is due."""
    ids = {decode_id(Prefix.WEBHOOK, target): target for target in targets}
    rows = Webhook.objects.filter(pk__in=list(ids)).annotate(is_probe_due=Q(probe_at__lte=Now()))
    limits = {}
    for pk, limit, probe_at, is_probe_due in rows.values_list("pk", "in_flight_limit", "probe_at", "is_probe_due"):
        number = limit if probe_at is None else int(is_probe_due)
        limits[WEBHOOK, ids[pk]] = Limit(number, is_proven=limit > IN_FLIGHT)
    return limits


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
    """Return deliveries to webhooks. Their message is sent as it is, so the submission's texts are not read."""
    texts = (f"submission__{name}" for name in ("data", "controls", "meta", "search_text"))
    deliveries = list(rows.filter(channel=WEBHOOK).select_related("message", "submission").defer(*texts))
    # Each webhook once: decrypting its secrets takes longer than reading it.
    webhooks = Webhook.objects.in_bulk({delivery.webhook_id for delivery in deliveries})
    there = [delivery for delivery in deliveries if delivery.webhook_id in webhooks]  # the others were just deleted
    for delivery in there:
        delivery.webhook = webhooks[delivery.webhook_id]
    return there


def _of_others(rows: QuerySet[Delivery]) -> list[Delivery]:
    return list(rows.exclude(channel=WEBHOOK).select_related("message", "submission__form", "organization"))
