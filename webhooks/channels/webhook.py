"""The webhook channel: which webhooks receive an event, and the signed request for each."""

import uuid
from collections.abc import Sequence
from typing import NamedTuple

from django.utils.translation import gettext_lazy

from config.times import now
from submissions.models import Submission
from webhooks.channels import http, webhook_health
from webhooks.channels.base import Noted, ReceiverChannel, receiver_of, serving
from webhooks.channels.outcome import Outcome
from webhooks.channels.page_named import NamedWebhooks
from webhooks.enqueue import Target, target_of
from webhooks.events import EVENTS, Event
from webhooks.models import WEBHOOK, Delivery, Receiver
from webhooks.signing import SIGNATURE, headers_for


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
        """Return the request, signed now."""
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
        """Lock the webhooks whose health changes."""
        return webhook_health.lock_changing(_by_webhook(noted, tests=False) + _by_webhook(noted, tests=True))

    def note(self, noted: Sequence[Noted], locked: dict[uuid.UUID, Receiver]) -> None:
        """Update the health of webhooks; test events leave it unchanged, but count as attempts of an open circuit."""
        webhook_health.note_outcomes(_by_webhook(noted, tests=False), locked)
        webhook_health.delay_probes(_by_webhook(noted, tests=True))


def _by_webhook(noted: Sequence[Noted], *, tests: bool) -> list[tuple[uuid.UUID, Outcome]]:
    """Return the outcomes of test events, or of all others, with their webhook."""
    return [
        (delivery.receiver_id, outcome)
        for delivery, outcome in noted
        if delivery.receiver_id is not None and EVENTS[delivery.event].is_tried_once is tests
    ]


def _wanted(event: Event, row: Submission, registered: Sequence[Receiver], named: NamedWebhooks) -> list[Receiver]:
    wanted = [webhook for webhook in registered if event.name in webhook.events]
    urls = {webhook.url for webhook in wanted}
    others = [webhook for webhook in named.of(row) if webhook.url not in urls and event.name in webhook.events]
    return wanted + [webhook for webhook in others if _may_receive(webhook, row)]


def _may_receive(webhook: Receiver, row: Submission) -> bool:
    """Return whether a webhook that a page named waits, or existed when the submission was accepted or released."""
    return webhook.status == Receiver.Status.PENDING or webhook.created_at <= (row.released_at or row.created_at)
