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
from collections.abc import Collection

from django.conf import settings
from django.db import transaction
from django.db.models import Count
from django.db.models.functions import Now

from webhooks.channels.registry import CHANNELS
from webhooks.models import Delivery

CANDIDATES = 64  # due rows read by one claim

Place = tuple[str, str]  # channel and target


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """A delivery taken by its `token`; `delivery` is loaded with its message, webhook, form and submission."""

    delivery: Delivery
    token: uuid.UUID


def claim_due(limit: int) -> list[Claim]:
    """
    Take at most `limit` due deliveries, oldest first, within each channel's cap for one target.

    Claim no more than can be started immediately: the lease runs from now.
    """
    if limit < 1 or not Delivery.objects.due().exists():
        return []
    token = uuid.uuid4()
    with transaction.atomic():
        chosen = _choose(limit)
        # due() again: a claimer that waited for this row's lock must see that another one has taken it.
        lease_until = Now() + dt.timedelta(seconds=settings.DELIVERY_LEASE_SECONDS)
        taken = Delivery.objects.due().filter(pk__in=chosen).update(lease_token=token, lease_until=lease_until)
    if not taken:
        return []
    claimed = Delivery.objects.filter(lease_token=token).select_related("message", "webhook__form", "submission__form")
    return [Claim(delivery, token) for delivery in claimed.order_by("next_attempt_at", "id")]


def _choose(limit: int) -> list[uuid.UUID]:
    """Return the ids to take: the cap holds because the target is locked while its live leases are counted."""
    caps = {name: channel.in_flight * channel.batch for name, channel in CHANNELS.items() if channel.in_flight}
    candidates = _candidates(caps)
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


def _candidates(caps: dict[str, int]) -> list[tuple[uuid.UUID, Place]]:
    """Return the oldest due deliveries of targets that have room."""
    due = Delivery.objects.due()
    full: dict[str, list[str]] = defaultdict(list)
    for (channel, target), live in _live_leases(caps).items():
        if live >= caps[channel]:
            full[channel].append(target)
    for channel, targets in full.items():
        due = due.exclude(channel=channel, target__in=targets)
    rows = due.order_by("next_attempt_at", "id").values_list("pk", "channel", "target")[:CANDIDATES]
    return [(pk, (channel, target)) for pk, channel, target in rows]


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
