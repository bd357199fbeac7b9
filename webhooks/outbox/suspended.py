"""
Deliveries of suspended organizations: they wait until the organization is resumed (docs/adr/0038).

A waiting delivery stays pending, with its next attempt in the year 9999. So claims pass over it at no cost, whatever
its number, and each one is touched once. The claim that meets an organization's first due delivery moves all of them.
"""

import uuid
from collections.abc import Collection

from django.db import transaction
from django.db.models.functions import Now

from keys.models import Organization
from webhooks.models import UNTIL_RESUMED, Delivery

ROWS_A_BATCH = 1000


def postpone(organizations: Collection[uuid.UUID]) -> int:
    """Make the due deliveries of suspended organizations wait; return how many. In batches, one transaction each."""
    postponed = 0
    while batch := _postpone_some(organizations):
        postponed += batch
    return postponed


def _postpone_some(organizations: Collection[uuid.UUID]) -> int:
    """Take no lock that it would have to wait for: others lock deliveries before organizations."""
    with transaction.atomic():
        # Locked, so that a resume waits for this commit and then releases these rows too.
        suspended = Organization.objects.filter(pk__in=organizations, suspended_at__isnull=False).order_by("pk")
        locked = list(suspended.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True))
        due = Delivery.objects.due().filter(organization__in=locked).order_by("pk")
        ids = due.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True)[:ROWS_A_BATCH]
        return Delivery.objects.due().filter(pk__in=list(ids)).update(next_attempt_at=UNTIL_RESUMED)


def release(organization: Organization) -> int:
    """Make the waiting deliveries of a resumed organization due; return how many."""
    waiting = Delivery.objects.waiting_for_resume().filter(organization=organization)
    return waiting.update(next_attempt_at=Now())


def release_strays() -> int:
    """Release waiting deliveries of organizations that are not suspended: a resume that was interrupted."""
    suspended = Organization.objects.filter(suspended_at__isnull=False)
    return Delivery.objects.waiting_for_resume().exclude(organization__in=suspended).update(next_attempt_at=Now())
