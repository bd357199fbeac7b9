"""
Mails an hour, by organization and by account. Mails over it wait for the next hour, without using up an attempt.

A mail about an account counts for the account, every other one for its organization, and one to an address without an
account for the address. Each attempt counts. The counter is the limiter's, so it is shared by all workers.
"""

import datetime as dt
import uuid
from collections.abc import Iterable

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest

from config.api.ratelimit import Usage, count_burst
from keys.plans import MAIL_FACTORS, Plan
from webhooks.enqueue import MAIL
from webhooks.models import Delivery

ROWS_A_BATCH = 1000


def split_by_allowance(claimed: Iterable[Delivery], token: uuid.UUID) -> list[Delivery]:
    """Return the claimed deliveries that may be sent now; the others, and all like them, wait for the next hour."""
    allowed: list[Delivery] = []
    for delivery in claimed:
        usage = _count(delivery) if delivery.channel == MAIL else None
        if usage is None or not usage.is_over:
            allowed.append(delivery)
        else:
            _postpone(delivery, token, until=dt.datetime.fromtimestamp(usage.reset, dt.UTC))
    return allowed


def _count(delivery: Delivery) -> Usage:
    organization = delivery.organization
    if delivery.account_id is None and organization is not None:
        limit = settings.MAILS_PER_ORGANIZATION * MAIL_FACTORS[Plan(organization.plan)]
        group, value = "mails-of-organization", str(organization.pk)
    else:
        limit = settings.MAILS_PER_ACCOUNT
        group, value = "mails-of-account", str(delivery.account_id or delivery.target.lower())
    return count_burst(HttpRequest(), group, value, f"{limit}/h")  # the limiter wants a request and reads nothing of it


def _postpone(delivery: Delivery, token: uuid.UUID, *, until: dt.datetime) -> None:
    """Give a claim back, and make everything that counts with it wait, so that it delays no others."""
    waiting = {"lease_token": None, "lease_until": None, "next_attempt_at": until}
    Delivery.objects.filter(pk=delivery.pk, lease_token=token).update(**waiting)
    alike = Q(account=None, organization=delivery.organization_id)
    if delivery.account_id is not None:
        alike = Q(account=delivery.account_id)
    elif delivery.organization_id is None:
        alike = Q(account=None, organization=None, target=delivery.target)
    while _postpone_some(alike, until):
        pass


def _postpone_some(alike: Q, until: dt.datetime) -> int:
    with transaction.atomic():
        due = Delivery.objects.due().filter(alike, channel=MAIL).order_by("pk")
        ids = due.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True)[:ROWS_A_BATCH]
        return Delivery.objects.due().filter(pk__in=list(ids)).update(next_attempt_at=until)
