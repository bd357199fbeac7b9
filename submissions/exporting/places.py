"""
Bounds on exports at the same time: for an organization, and in all (docs/contract.md 5.35).

A place is a key in the shared cache, so it counts across processes where there is Redis. It is a lease: a process that
dies keeps no place.
"""

import time
import uuid

from django.conf import settings
from django.core.cache import cache
from django.utils.translation import gettext

from config.api.errors import RateLimited

LEASE_SECONDS = 60
RENEW_SECONDS = 15.0
RETRY_AFTER_SECONDS = 10


class Place:
    """The right to run one export, until `release`. `renew` must be called at least every 45 seconds."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._renewed = time.monotonic()

    def renew(self) -> None:
        """Extend the lease, if that is due."""
        if self._names and time.monotonic() - self._renewed > RENEW_SECONDS:
            self._renewed = time.monotonic()
            for name in self._names:
                cache.set(name, 1, LEASE_SECONDS)

    def release(self) -> None:
        """Give the place back. Does nothing the next time."""
        names, self._names = self._names, []
        for name in names:
            cache.delete(name)


def take_place(organization_id: uuid.UUID) -> Place:
    """Return a place. Raises RateLimited if the organization, or all together, run as many exports as they may."""
    own = _take(f"export-place:{organization_id}", settings.EXPORTS_AT_ONCE_PER_ORGANIZATION)
    if not own:
        text = gettext("This organization runs %(count)s exports already. Try again when one of them has ended.")
        raise _busy(text % {"count": settings.EXPORTS_AT_ONCE_PER_ORGANIZATION})
    shared = _take("export-place", settings.EXPORTS_AT_ONCE)
    if not shared:
        Place([own]).release()
        raise _busy(gettext("Too many exports run now. Try again in a few seconds."))
    return Place([own, shared])


def _take(name: str, places: int) -> str:
    """Return the cache key of a free place, or an empty string."""
    names = (f"{name}:{number}" for number in range(places))
    return next((free for free in names if cache.add(free, 1, LEASE_SECONDS)), "")


def _busy(message: str) -> RateLimited:
    refusal = RateLimited(message, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
    refusal.reason = "exports"
    return refusal
