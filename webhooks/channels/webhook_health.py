"""
The health of a webhook's endpoint: its failures, its circuit, its limit of requests in flight, when it is disabled
(docs/contract.md 7.10, 7.11).
"""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import gettext, gettext_noop

from config.times import now
from keys.models import Role, User
from keys.notices import mail_language
from webhooks.channels.outcome import Outcome
from webhooks.channels.receiver_status import ACTIVE, disable, record_status
from webhooks.enqueue import enqueue, mail_target
from webhooks.events import WEBHOOK_DISABLED
from webhooks.models import IN_FLIGHT, Receiver
from webhooks.payloads import Notice

DISABLE_AFTER = dt.timedelta(days=5)  # of failures without a single success
DISABLE_AFTER_FAILURES = 10
OPEN_AFTER_FAILURES = 10  # in a row; then the circuit is open, and there is one attempt at a time
PROBE_EVERY = dt.timedelta(seconds=30)  # while it is open
QUICK_MILLISECONDS = 500  # an answer before this doubles the limit of requests in flight
MOST_IN_FLIGHT = 32
GONE = gettext_noop("The endpoint answered 410 Gone.")
FAILING = gettext_noop("The endpoint failed for 5 days without a single success.")
_NOTED = (
    "organization", "form", "kind", "url", "status", "disabled_reason",
    "failing_since", "failure_count", "in_flight_limit",
)  # fmt: skip


def lock_changing(noted: Collection[tuple[uuid.UUID, Outcome]]) -> dict[uuid.UUID, Receiver]:
    """Lock the webhooks whose health these outcomes may change; most often none, while all answer quickly."""
    ids = {pk for pk, _ in noted}
    changing = {pk for pk, outcome in noted if not _is_quick(outcome)}
    is_changing = Q(pk__in=changing) | Q(failure_count__gt=0) | Q(in_flight_limit__lt=MOST_IN_FLIGHT)
    rows = Receiver.objects.filter(is_changing, pk__in=ids).order_by("pk").only(*_NOTED)
    return {webhook.pk: webhook for webhook in rows.select_for_update(no_key=True)}


def delay_probes(tested: Iterable[tuple[uuid.UUID, Outcome]]) -> None:
    """
    Count failed test events as the attempts of their open circuits: the next one is 30 seconds later.

    After a success the next attempt stays due: it is that of a delivery, which closes the circuit.
    """
    failed = {pk for pk, outcome in tested if not outcome.succeeded}
    if failed:
        Receiver.objects.filter(pk__in=failed, probe_at__isnull=False).update(probe_at=Now() + PROBE_EVERY)


def note_outcomes(noted: Iterable[tuple[uuid.UUID, Outcome]], locked: Mapping[uuid.UUID, Receiver]) -> None:
    """
    Count failures since the last success, and set the limit of requests in flight.

    Ten failures in a row open the circuit. An endpoint that is gone, or has failed for too long, is disabled.
    """
    by_webhook: dict[uuid.UUID, list[Outcome]] = defaultdict(list)
    for pk, outcome in noted:
        if pk in locked:
            by_webhook[pk].append(outcome)
    for pk, outcomes in by_webhook.items():
        _note(locked[pk], outcomes)


def _note(webhook: Receiver, outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.succeeded:
            webhook.failing_since, webhook.failure_count = None, 0
        else:
            webhook.failing_since = webhook.failing_since or now()
            webhook.failure_count += 1
    if not all(_is_quick(outcome) for outcome in outcomes):
        webhook.in_flight_limit = IN_FLIGHT
    else:  # at most once for all answers that were recorded together
        webhook.in_flight_limit = min(webhook.in_flight_limit * 2, MOST_IN_FLIGHT)
    probe_at: Any = Now() + PROBE_EVERY if webhook.failure_count >= OPEN_AFTER_FAILURES else None
    changes = {name: getattr(webhook, name) for name in ("failing_since", "failure_count", "in_flight_limit")}
    Receiver.objects.filter(pk=webhook.pk).update(**changes, probe_at=probe_at)
    gone = any(outcome.gone for outcome in outcomes)
    if webhook.status == ACTIVE and (gone or is_hopeless(webhook.failing_since, webhook.failure_count, now())):
        disable(webhook, GONE if gone else FAILING)
        record_status(webhook, "disabled", ACTIVE)
        _notify_owners(webhook)


def _is_quick(outcome: Outcome) -> bool:
    return outcome.succeeded and outcome.duration_ms < QUICK_MILLISECONDS


def is_hopeless(failing_since: dt.datetime | None, failures: int, moment: dt.datetime) -> bool:
    """Return whether an endpoint has failed long and often enough to be disabled."""
    if failing_since is None or failures < DISABLE_AFTER_FAILURES:
        return False
    return moment - failing_since >= DISABLE_AFTER


def _notify_owners(webhook: Receiver) -> None:
    """Mail the organization's owners that an endpoint was disabled. Runs inside a transaction."""
    owning = {"memberships__organization": webhook.organization_id, "memberships__role": Role.OWNER}
    owners = list(User.objects.filter(is_active=True, **owning).order_by("email"))
    language = mail_language(owners)
    with translation.override(language):
        if webhook.form is None:
            subject = gettext("Webhook disabled: all forms")
        else:
            subject = gettext("Webhook disabled: %(form)s") % {"form": webhook.form.name}
        text = gettext(
            "We stopped sending to %(url)s\n\nReason: %(reason)s\n\n"
            "Fix the endpoint, activate the webhook again, and replay the deliveries that it missed. Nothing was lost."
        ) % {"url": webhook.url, "reason": webhook.shown_reason}
    targets = [mail_target(owner.email) for owner in owners]
    enqueue(WEBHOOK_DISABLED, Notice(subject, text, language), targets, organization_id=webhook.organization_id)
