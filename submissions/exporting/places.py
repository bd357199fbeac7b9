"""
Bounds on exports at the same time: for an organization, for its owners, and in all (docs/contract.md 5.35).

Those of a process hold at most half of its threads. All other places are keys in the shared cache, so they count across
processes where there is Redis. They are leases: a process that dies keeps no place.
"""

import time
import uuid

from django.conf import settings
from django.core.cache import cache
from django.utils.translation import gettext, gettext_noop

from config.api.errors import RateLimited, ServiceUnavailable
from config.api.long_requests import PLACES
from keys.models import Membership, Role

LEASE_SECONDS = 60
RENEW_SECONDS = 15.0
RETRY_AFTER_SECONDS = 10
BUSY = gettext_noop("Too many exports run now. Try again in a few seconds.")


class Place:
    """
    The right to run one export, until `release`. `renew` must be called at least every 45 seconds.

    `has_thread`: it holds one of the threads for such requests too.
    """

    def __init__(self, names: list[str], *, has_thread: bool = False) -> None:
        self._names = names
        self._has_thread = has_thread
        self._renewed = time.monotonic()

    def renew(self) -> None:
        """Keep the place. Raises ServiceUnavailable once the lease has ended: somebody else may have the place."""
        if time.monotonic() - self._renewed > LEASE_SECONDS:
            raise ServiceUnavailable  # a client took longer than that for one part
        if self._names and time.monotonic() - self._renewed > RENEW_SECONDS:
            self._renewed = time.monotonic()
            for name in self._names:
                cache.set(name, 1, LEASE_SECONDS)

    def release(self) -> None:
        """Give the place back. Does nothing the next time."""
        names, self._names = self._names, []
        for name in names:
            cache.delete(name)
        if names and self._has_thread:
            PLACES.release()


def take_place(organization_id: uuid.UUID) -> Place:
    """Return a place. Raises RateLimited if the organization, one of its owners, or all run as many as they may."""
    taken: list[str] = []
    try:
        _take_all(organization_id, taken)
        if not PLACES.acquire(blocking=False):
            raise _busy(BUSY)
    except BaseException:
        Place(taken).release()
        raise
    return Place(taken, has_thread=True)


def _take_all(organization_id: uuid.UUID, taken: list[str]) -> None:
    """Add to `taken` the cache keys of free places. Raises RateLimited where none is free."""
    own = _names(organization_id, settings.EXPORTS_AT_ONCE_PER_ORGANIZATION)
    if not _take(own, taken):
        text = gettext("This organization runs %(count)s exports already. Try again when one of them has ended.")
        raise _busy(text % {"count": len(own)})
    for owner in Membership.objects.filter(organization=organization_id, role=Role.OWNER).order_by("user"):
        places = _names(f"owner:{owner.user_id}", settings.EXPORTS_AT_ONCE_PER_OWNER)
        if not _take(places, taken):
            text = gettext(
                "Organizations of one owner run %(count)s exports already. Try again when one of them has ended."
            )
            raise _busy(text % {"count": len(places)})
    shared = _names("all", settings.EXPORTS_AT_ONCE)
    # The last place is kept for organizations without any export.
    if not _take(shared, taken) or (_count(own) > 1 and _count(shared) == len(shared)):
        raise _busy(BUSY)


def _names(group: object, places: int) -> list[str]:
    """Return the cache keys of a group's places."""
    return [f"export-place:{group}:{number}" for number in range(places)]


def _take(names: list[str], taken: list[str]) -> bool:
    """Take the first free place, and add it to `taken`; return whether there was one."""
    free = next((name for name in names if cache.add(name, 1, LEASE_SECONDS)), None)
    taken += [free] if free else []
    return free is not None


def _count(names: list[str]) -> int:
    return sum(cache.get(name) is not None for name in names)


def _busy(message: str) -> RateLimited:
    refusal = RateLimited(gettext(message), headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
    refusal.reason = "exports"
    return refusal
