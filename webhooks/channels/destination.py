"""
The channel of destinations: which of them receive a submission, and the request of their kind.

The deliveries of one whose service refuses our credentials are held until somebody has corrected them.
"""

import datetime as dt
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from django.db.models import Case, Q, QuerySet, When
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import gettext_lazy

from config.base.ids import Prefix, decode_id, encode_id
from config.base.times import now
from keys.notices import ENGLISH, notify_owners
from submissions.models import Submission
from webhooks.channels.channel import Noted, ReceiverChannel, receiver_of, serving
from webhooks.channels.receiver_status import ACTIVE, DISABLED, NEEDS_ATTENTION, activate, need_attention, record_status
from webhooks.enqueue import Target, target_of
from webhooks.events import EVENTS, SUBMISSION_CREATED, TEST, Event
from webhooks.kinds.kind import Kind, Request
from webhooks.kinds.registry import KINDS
from webhooks.kinds.submitted import submitted_of
from webhooks.models import DESTINATION, Delivery, Receiver
from webhooks.transport.outcome import Outcome

Locked = Mapping[uuid.UUID, Receiver]
TOO_MANY = 429
MOST_QUIET_SECONDS = 3600.0  # that one answer can stop all deliveries of a destination
LONGEST_PACE = 2.0  # seconds that a sender waits for its turn; a longer wait is one of the claim


class Sending(NamedTuple):
    """One request. `endpoint`: whose other requests may take the same connection."""

    kind: Kind
    request: Request
    endpoint: str
    quiet_until: dt.datetime | None


class DestinationChannel(ReceiverChannel[Sending]):
    """Chats, sheets and templates (docs/contract.md 9)."""

    name = DESTINATION
    label = gettext_lazy("Destinations")
    uses_body = False

    def targets_of(self, event: Event, rows: Sequence[Submission]) -> dict[uuid.UUID, list[Target]]:
        """Return the destinations of each submission's form and of all forms that existed when it was accepted."""
        if event.name != SUBMISSION_CREATED.name:
            return {}
        found = _with_present_status(Receiver.objects.destinations().serving_any(rows).defer("config"))
        targets = {each.pk: target_of(each) for each in found}
        return {pk: [targets[each.pk] for each in own] for pk, own in serving(rows, found).items()}

    def requests_to(self, targets: Collection[str]) -> Mapping[str, int]:
        """Return the limit of each destination's kind; none while its service has asked us to wait."""
        ids = [decode_id(Prefix.DESTINATION, target) for target in targets]
        is_quiet = Q(quiet_until__gt=Now() + dt.timedelta(seconds=LONGEST_PACE))
        found = Receiver.objects.filter(pk__in=ids).annotate(is_quiet=Case(When(is_quiet, then=1), default=0))
        return {
            encode_id(Prefix.DESTINATION, pk): 0 if is_quiet else KINDS[kind].in_flight if kind in KINDS else 1
            for pk, kind, is_quiet in found.values_list("pk", "kind", "is_quiet")
        }

    def render(self, delivery: Delivery) -> Sending:
        destination = receiver_of(delivery)
        kind = KINDS[destination.kind]
        language = delivery.submission.form.language if delivery.submission is not None else ENGLISH
        with translation.override(language):
            request = kind.render(submitted_of(delivery), destination.settings())
        return Sending(kind, request, destination.public_id, destination.quiet_until)

    def logged(self, delivery: Delivery, rendered: Sending) -> str:  # noqa: ARG002  # the channel's interface
        return rendered.request.logged()

    def send(self, rendered: Sending) -> Outcome:
        """Send the request when its turn has come: one at a time, so that the wait keeps the pace."""
        if rendered.quiet_until is not None:
            time.sleep(max(0.0, min((rendered.quiet_until - now()).total_seconds(), LONGEST_PACE)))
        return rendered.kind.send(rendered.request, rendered.endpoint)

    def lock(self, noted: Sequence[Noted]) -> Locked:
        """Lock the destinations of outcomes, in key order."""
        ids = {delivery.receiver_id for delivery, _ in noted}
        rows = Receiver.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
        return {destination.pk: destination for destination in rows}

    def holds(self, delivery: Delivery, outcome: Outcome, locked: Locked) -> bool:
        """
        Return whether a failed delivery waits for a correction, because the service refused our credentials.

        A test is over, whatever its result. A delivery to a destination that somebody disabled meanwhile is not held:
        its next claim cancels it.
        """
        if not outcome.refused or EVENTS[delivery.event].is_tried_once:
            return False
        return _is_about_present_config(delivery, locked) and locked[receiver_of(delivery).pk].status != DISABLED

    def note(self, noted: Sequence[Noted], locked: Locked) -> None:
        """Hold or release destinations by the outcomes, and set when each may be sent to again."""
        by_destination: dict[uuid.UUID, list[Noted]] = defaultdict(list)
        for delivery, outcome in noted:
            by_destination[receiver_of(delivery).pk].append((delivery, outcome))
        for pk in by_destination.keys() & locked.keys():
            destination, own = locked[pk], by_destination[pk]
            _note_quiet(destination, [outcome for _, outcome in own])
            for delivery, outcome in own:
                if not _is_about_present_config(delivery, locked):
                    continue
                if outcome.refused and destination.status == ACTIVE:
                    need_attention(destination, outcome.refused)
                    _notify_owners(destination)
                elif outcome.succeeded and delivery.event == TEST.name and destination.status == NEEDS_ATTENTION:
                    activate(destination)
                    record_status(destination, "released", NEEDS_ATTENTION)


def _is_about_present_config(delivery: Delivery, locked: Locked) -> bool:
    """Return whether it was sent with the config that the destination has now: another one may be right."""
    sent_to = receiver_of(delivery)
    return sent_to.pk in locked and locked[sent_to.pk].config == sent_to.config


def _with_present_status(rows: QuerySet[Receiver]) -> list[Receiver]:
    """
    Return the destinations, those that need attention locked.

    Otherwise a correction could release the held deliveries before these are committed, which would stay held.
    """
    found = list(rows)
    held = [each.pk for each in found if each.status == Receiver.Status.NEEDS_ATTENTION]
    if held:
        locked = Receiver.objects.filter(pk__in=held).order_by("pk").select_for_update(no_key=True)
        statuses = dict(locked.values_list("pk", "status"))
        for each in found:
            each.status = statuses.get(each.pk, each.status)
    return found


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
