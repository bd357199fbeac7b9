"""
The webhook channel: which webhooks receive an event, the signed request for each, and the health of its endpoint.

Health: the failures, the circuit, the limit of requests in flight, when it is disabled (docs/contract.md 7.10, 7.11).
"""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from config.base.times import now
from keys.models import Role, User
from keys.notices import mail_language
from submissions.models import Submission
from webhooks.channels.channel import Noted, ReceiverChannel, receiver_of, serving
from webhooks.channels.page_named import NamedWebhooks
from webhooks.channels.receiver_status import ACTIVE, disable, record_status
from webhooks.enqueue import MAIL, Target, enqueue, target_of
from webhooks.events import EVENTS, WEBHOOK_DISABLED, Event
from webhooks.models import IN_FLIGHT, WEBHOOK, Delivery, Receiver
from webhooks.payloads import Notice
from webhooks.signing import SIGNATURE, headers_for
from webhooks.transport import http
from webhooks.transport.outcome import Outcome

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


class Post(NamedTuple):
    """One signed request. `endpoint`: whose other messages may take the same connection."""

    endpoint: str
    url: str
    body: bytes
    headers: dict[str, str]


class WebhookChannel(ReceiverChannel[Post]):
    """Signed POST requests to a customer's endpoints (docs/contract.md 7)."""

    name = WEBHOOK
    label = gettext_lazy("Webhooks")

    def targets_of(self, event: Event, rows: Sequence[Submission]) -> dict[uuid.UUID, list[Target]]:
        """Return each submission's webhooks that subscribe: its form's, those of all forms, those its page named."""
        webhooks = Receiver.objects.webhooks().serving_any(rows).exclude(status=Receiver.Status.PENDING)
        registered, named = serving(rows, webhooks), NamedWebhooks(rows)
        wanted = {row.pk: _wanted(event, row, registered[row.pk], named) for row in rows}
        targets = {webhook.pk: webhook for webhooks in wanted.values() for webhook in webhooks}
        known = {pk: target_of(webhook) for pk, webhook in targets.items()}
        return {pk: [known[webhook.pk] for webhook in webhooks] for pk, webhooks in wanted.items()}

    def render(self, delivery: Delivery) -> Post:
        webhook, sent_at = receiver_of(delivery), now()
        body = delivery.message.body.encode()
        headers = headers_for(delivery.message.public_id, body, webhook.secrets_at(sent_at), sent_at)
        return Post(webhook.public_id, webhook.url, body, headers)

    def logged(self, delivery: Delivery, rendered: Post) -> str:  # noqa: ARG002  # the channel's interface
        """Return the request without its signature; its body is the message's."""
        return http.logged_request(rendered.url, rendered.body, rendered.headers, left_out=SIGNATURE)

    def send(self, rendered: Post) -> Outcome:
        return http.post(rendered.url, rendered.body, rendered.headers, endpoint=rendered.endpoint)

    def lock(self, noted: Sequence[Noted]) -> dict[uuid.UUID, Receiver]:
        """Lock the webhooks whose health these outcomes may change; most often none, while all answer quickly."""
        ids = {delivery.receiver_id for delivery, _ in noted}
        changing = {delivery.receiver_id for delivery, outcome in noted if not _is_quick(outcome)}
        is_changing = Q(pk__in=changing) | Q(failure_count__gt=0) | Q(in_flight_limit__lt=MOST_IN_FLIGHT)
        rows = Receiver.objects.filter(is_changing, pk__in=ids).order_by("pk").only(*_NOTED)
        return {webhook.pk: webhook for webhook in rows.select_for_update(no_key=True)}

    def note(self, noted: Sequence[Noted], locked: dict[uuid.UUID, Receiver]) -> None:
        """
        Update the health of webhooks; test events leave it unchanged.

        But a failed one counts as the attempt of an open circuit: the next is 30 seconds later. After a success that
        stays due: it is that of a delivery, which closes the circuit.
        """
        by_webhook: dict[uuid.UUID, list[Outcome]] = defaultdict(list)
        failed_tests = set()
        for delivery, outcome in noted:
            pk = receiver_of(delivery).pk
            if EVENTS[delivery.event].is_tried_once:
                failed_tests |= set() if outcome.succeeded else {pk}
            elif pk in locked:
                by_webhook[pk].append(outcome)
        for pk, outcomes in by_webhook.items():
            _note(locked[pk], outcomes)
        if failed_tests:
            probed = Receiver.objects.filter(pk__in=failed_tests, probe_at__isnull=False)
            probed.update(probe_at=Now() + PROBE_EVERY)


def _wanted(event: Event, row: Submission, registered: Sequence[Receiver], named: NamedWebhooks) -> list[Receiver]:
    wanted = [webhook for webhook in registered if event.name in webhook.events]
    urls = {webhook.url for webhook in wanted}
    others = [webhook for webhook in named.of(row) if webhook.url not in urls and event.name in webhook.events]
    return wanted + [webhook for webhook in others if _may_receive(webhook, row)]


def _may_receive(webhook: Receiver, row: Submission) -> bool:
    """Return whether a webhook that a page named waits, or existed when the submission was accepted or released."""
    return webhook.status == Receiver.Status.PENDING or webhook.created_at <= (row.released_at or row.created_at)


def _note(webhook: Receiver, outcomes: Sequence[Outcome]) -> None:
    """
    Count failures since the last success, and set the limit of requests in flight.

    Ten failures in a row open the circuit. An endpoint that is gone, or has failed for too long, is disabled.
    """
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
    targets = [Target(MAIL, owner.email) for owner in owners]
    enqueue(WEBHOOK_DISABLED, Notice(subject, text, language), targets, organization_id=webhook.organization_id)
