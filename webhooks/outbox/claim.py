"""
Claiming due deliveries (docs/adr/0003).

A claim is a lease: a token and an end, written in a short transaction. Sending happens outside any transaction, and a
result counts only while the row still has the token, so a worker that died or was overtaken changes nothing. Every time
is the database's, in SQL.
"""

import dataclasses
import datetime as dt
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from django.conf import settings
from django.db import transaction
from django.db.models import Count
from django.db.models.functions import Now

from webhooks.channels.registry import CHANNELS
from webhooks.models import Delivery
from webhooks.outbox.mail_allowance import split_by_allowance
from webhooks.outbox.suspended import postpone, suspended_among

CANDIDATES = 64  # due rows read by one claim

Place = tuple[str, str]  # channel and target
Owner = uuid.UUID | None  # the organization; None: a mail to an account


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """
    A delivery taken by its `token`.

    `delivery` is loaded with its organization, message, webhook, form and submission, and prepared by its channel.
    """

    delivery: Delivery
    token: uuid.UUID


def claim_due(limit: int) -> list[Claim]:
    """
    Take at most `limit` due deliveries within each channel's cap for one target: those with a priority first, then
    the oldest.

    Claim no more than can be started immediately: the lease runs from now.
    """
    while limit > 0 and Delivery.objects.due().exists():
        token = uuid.uuid4()
        taken, suspended = _take(limit, token)
        while suspended and postpone(suspended) and not taken:  # they were in front of the others
            taken, suspended = _take(limit, token)
        claims = _claims(token) if taken else []
        if claims or not taken:
            return claims  # none, though some were taken: they wait for their allowance now, and others are due
    return []


def _claims(token: uuid.UUID) -> list[Claim]:
    """Return the leased deliveries that may be sent now, by priority, then the oldest."""
    needed = ("message", "webhook__form", "submission__form", "organization")
    rows = Delivery.objects.filter(lease_token=token).select_related(*needed)
    claimed = split_by_allowance(rows.order_by("-priority", "next_attempt_at", "id"), token)
    for name, channel in CHANNELS.items():
        if together := [delivery for delivery in claimed if delivery.channel == name]:
            channel.prepare(together)
    return [Claim(delivery, token) for delivery in claimed]


def _take(limit: int, token: uuid.UUID) -> tuple[int, set[uuid.UUID]]:
    """Lease deliveries; return how many, and the suspended organizations whose due deliveries were passed over."""
    caps = {name: channel.in_flight * channel.batch for name, channel in CHANNELS.items() if channel.in_flight}
    with transaction.atomic():
        candidates = _candidates(caps)
        suspended = suspended_among({owner for _, _, owner in candidates})
        chosen = _choose(limit, caps, [(pk, place) for pk, place, owner in candidates if owner not in suspended])
        # due() again: a claimer that waited for this row's lock must see that another one has taken it.
        lease_until = Now() + dt.timedelta(seconds=settings.DELIVERY_LEASE_SECONDS)
        taken = Delivery.objects.due().filter(pk__in=chosen).update(lease_token=token, lease_until=lease_until)
    return taken, suspended


def _choose(limit: int, caps: dict[str, int], candidates: Sequence[tuple[uuid.UUID, Place]]) -> list[uuid.UUID]:
    """Return the ids to take: the cap holds because the target is locked while its live leases are counted."""
    locked = _lock({place for _, place in candidates if place[0] in caps})
    live = _live_leases(caps)
    chosen: list[uuid.UUID] = []
    for pk, place in candidates:
        if len(chosen) == limit:
            break
        if place[0] not in caps or (place in locked and live[place] < caps[place[0]]):
            live[place] += 1
            chosen.append(pk)
    return chosen


def _candidates(caps: dict[str, int]) -> list[tuple[uuid.UUID, Place, Owner]]:
    """Return the due deliveries of targets that have room, with the organizations: by priority, then the oldest."""
    due = Delivery.objects.due()
    full: dict[str, list[str]] = defaultdict(list)
    for (channel, target), live in _live_leases(caps).items():
        if live >= caps[channel]:
            full[channel].append(target)
    for channel, targets in full.items():
        due = due.exclude(channel=channel, target__in=targets)
    # Two queries, because each has its index; one order by both would sort all that is due.
    first = due.filter(priority__gt=0).order_by("-priority", "next_attempt_at", "id")
    others = due.filter(priority__lte=0).order_by("next_attempt_at", "id")
    columns = ("pk", "channel", "target", "organization_id")
    rows = [*first.values_list(*columns)[:CANDIDATES], *others.values_list(*columns)[:CANDIDATES]]
    return [(pk, (channel, target), owner) for pk, channel, target, owner in rows]


def _lock(places: Collection[Place]) -> set[Place]:
    """Lock the targets that a cap depends on; return those that were free to lock."""
    by_channel: dict[str, set[str]] = defaultdict(set)
    for channel, target in places:
        by_channel[channel].add(target)
    return {(name, target) for name, targets in by_channel.items() for target in CHANNELS[name].lock(targets)}


def _live_leases(channels: Collection[str]) -> Counter[Place]:
    """Return how many deliveries of these channels are in flight to each target."""
    leased = Delivery.objects.filter(lease_token__isnull=False, lease_until__gte=Now(), channel__in=list(channels))
    rows = leased.order_by().values_list("channel", "target").annotate(live=Count("pk"))
    return Counter({(channel, target): live for channel, target, live in rows})
