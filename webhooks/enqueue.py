"""
Entering deliveries into the outbox.

Dispatch does it for the events of submissions; `enqueue` for every other event: test events, notices.
"""

import datetime as dt
import ipaddress
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from config.base.nudge import DELIVER, nudge
from webhooks.events import Event
from webhooks.models import Delivery, Message, Receiver
from webhooks.payloads import RenderedMail

MAIL = "mail"  # the channel without a receiver


@dataclass(frozen=True, slots=True)
class Target:
    """
    Where a message goes: `name` is unique within its channel, at most 254 characters. `host`: the receiving one, or "".

    `receiver`: of a channel that has them.
    """

    channel: str
    name: str
    host: str = ""
    receiver: Receiver | None = None

    def delivery(self, message: Message, organization_id: uuid.UUID | None, **values: Any) -> Delivery:
        """Return an unsaved delivery of a message to this target, due now."""
        return Delivery(
            organization_id=organization_id,
            message=message,
            submission_id=message.submission_id,
            event=message.event,
            channel=self.channel,
            target=self.name,
            host=self.host,
            receiver=self.receiver,
            **{"next_attempt_at": Now(), **values},
        )


def target_of(receiver: Receiver) -> Target:
    """Return a receiver as a target. Of a vendor's host, its own limit and pace are its share: no `host`."""
    return Target(receiver.channel, receiver.public_id, host_of(receiver.url), receiver)


def host_of(url: str) -> str:
    """
    Return the receiving host of a URL in lower case, "" if it has none.

    An address inside `WEBHOOK_ALLOWED_NETWORKS` counts with its port: different services of one machine.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        return f"{host}:{parts.port}"[:255] if parts.port and _is_opened(host) else host[:255]
    except ValueError:
        return ""


def _is_opened(host: str) -> bool:
    """Return whether a host is written as an address that a self-hoster has opened."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        return False
    return any(address in ipaddress.ip_network(network) for network in settings.WEBHOOK_ALLOWED_NETWORKS)


def enqueue(event: Event, subject: Any, targets: Sequence[Target], *, organization_id: uuid.UUID) -> list[Delivery]:
    """
    Store one message of an event that no submission causes, and a due delivery of it for each target.

    `subject`: the argument of the event's `write`. Stores nothing without a target.
    """
    if not targets:
        return []
    with transaction.atomic():
        message = Message.objects.create(event=event.name, body=event.write(subject))
        return Delivery.objects.bulk_create(
            target.delivery(message, organization_id, priority=event.priority) for target in targets
        )


def enqueue_mail(
    event: Event,
    mail: RenderedMail,
    to: str,
    *,
    organization_id: uuid.UUID | None = None,
    account_id: uuid.UUID | None = None,
    expires_at: dt.datetime | None = None,
    key: str | None = None,
) -> Delivery:
    """
    Store a mail of a secret event, encrypted, and its delivery, due now; wake the deliverer after the commit.

    After `expires_at` it is canceled instead of sent. `key`: unique, to find the delivery by.
    """
    with transaction.atomic():
        message = Message.objects.create(event=event.name, secret=event.write(mail), expires_at=expires_at)
        values = {"account_id": account_id, "priority": event.priority, "key": key}
        delivery = Target(MAIL, to).delivery(message, organization_id, **values)
        delivery.save(force_insert=True)
        transaction.on_commit(lambda: nudge(DELIVER))
    return delivery
