"""A receiver whose service refuses our credentials: its deliveries are held until somebody has corrected them."""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.db.models.functions import Now
from django.utils.translation import gettext_lazy

from keys.notices import notify_owners
from webhooks.channels.base import Noted, receiver_of
from webhooks.channels.destinations.kinds import KINDS
from webhooks.channels.outcome import Outcome
from webhooks.channels.receiver_status import (
    ACTIVE,
    DISABLED,
    NEEDS_ATTENTION,
    activate,
    need_attention,
    record_status,
)
from webhooks.events import TEST, event_named
from webhooks.models import Delivery, Receiver

Locked = Mapping[uuid.UUID, Receiver]
TOO_MANY = 429
MOST_QUIET_SECONDS = 3600.0  # that one answer can stop all deliveries of a destination


def lock_noted(noted: Sequence[Noted]) -> dict[uuid.UUID, Receiver]:
    """Lock the destinations of outcomes, in key order."""
    ids = {delivery.receiver_id for delivery, _ in noted}
    rows = Receiver.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
    return {destination.pk: destination for destination in rows}


def is_about_present_config(delivery: Delivery, locked: Locked) -> bool:
    """Return whether it was sent with the config that the destination has now: another one may be right."""
    sent_to = receiver_of(delivery)
    return sent_to.pk in locked and locked[sent_to.pk].config == sent_to.config


def is_held(delivery: Delivery, outcome: Outcome, locked: Locked) -> bool:
    """
    Return whether a failed delivery waits for a correction.

    A test is over, whatever its result. A delivery to a destination that somebody disabled meanwhile is not held: its
    next claim cancels it.
    """
    if not outcome.refused or event_named(delivery.event).is_tried_once:
        return False
    return is_about_present_config(delivery, locked) and locked[receiver_of(delivery).pk].status != DISABLED


def note_outcomes(noted: Sequence[Noted], locked: Locked) -> None:
    """Hold or release destinations by the outcomes, and set when each may be sent to again."""
    by_destination: dict[uuid.UUID, list[Noted]] = defaultdict(list)
    for delivery, outcome in noted:
        by_destination[receiver_of(delivery).pk].append((delivery, outcome))
    for pk in by_destination.keys() & locked.keys():
        destination, own = locked[pk], by_destination[pk]
        _note_quiet(destination, [outcome for _, outcome in own])
        for delivery, outcome in own:
            if not is_about_present_config(delivery, locked):
                continue
            if outcome.refused and destination.status == ACTIVE:
                need_attention(destination, outcome.refused)
                _notify_owners(destination)
            elif outcome.succeeded and delivery.event == TEST.name and destination.status == NEEDS_ATTENTION:
                activate(destination)
                record_status(destination, "released", NEEDS_ATTENTION)


def _note_quiet(destination: Receiver, outcomes: Sequence[Outcome]) -> None:
    waits = [each.retry_after_seconds or 0.0 for each in outcomes if each.status == TOO_MANY]
    kind = KINDS.get(destination.kind)
    seconds = max([kind.pace if kind else 0.0, *(min(wait, MOST_QUIET_SECONDS) for wait in waits)])
    if seconds:
        until = Now() + dt.timedelta(seconds=seconds)
        # A longer wait stays: several requests may be in flight, and their answers come in any order.
        earlier = Receiver.objects.filter(pk=destination.pk).exclude(quiet_until__gt=until)
        earlier.update(quiet_until=until)


def _notify_owners(destination: Receiver) -> None:
    subject = gettext_lazy("Destination needs attention: %(name)s")
    text = gettext_lazy(
        "We hold what is for the destination “%(name)s” of %(organization)s.\n\nReason: %(reason)s\n\n"
        "Correct its settings, or send a successful test. Then everything that waits is sent. Nothing was lost."
    )
    organization, reason = destination.organization, gettext_lazy(destination.disabled_reason)
    values = {"name": destination.name, "organization": organization.name, "reason": reason}
    notify_owners(organization, "destination.needs_attention", subject=subject, text=text, values=values)
