"""The health of a webhook's endpoint: failures since its last success, and when it is disabled."""

import datetime as dt
from collections.abc import Iterable

from django.db.models.functions import Now

from config.times import now
from keys.models import Role, User
from webhooks.channels.outcome import Outcome
from webhooks.enqueue import enqueue, mail_target
from webhooks.events import WEBHOOK_DISABLED
from webhooks.models import Delivery, Webhook
from webhooks.payloads import Notice

DISABLE_AFTER = dt.timedelta(days=5)  # of failures without a single success
DISABLE_AFTER_FAILURES = 10
GONE = "The endpoint answered 410 Gone."
FAILING = "The endpoint failed for 5 days without a single success."
ACTIVE, DISABLED = Webhook.Status.ACTIVE, Webhook.Status.DISABLED


def note_outcome(webhook: Webhook, outcome: Outcome) -> None:
    """Count failures since the last success; disable an endpoint that is gone or has failed for too long."""
    if outcome.succeeded:
        if webhook.failure_count:
            webhook.failing_since, webhook.failure_count = None, 0
            webhook.save(update_fields=["failing_since", "failure_count"])
        return
    webhook.failing_since = webhook.failing_since or now()
    webhook.failure_count += 1
    webhook.save(update_fields=["failing_since", "failure_count"])
    hopeless = is_hopeless(webhook.failing_since, webhook.failure_count, now())
    if webhook.status == ACTIVE and (outcome.gone or hopeless):
        disable(webhook, GONE if outcome.gone else FAILING)
        _notify_owners(webhook)


def is_hopeless(failing_since: dt.datetime | None, failures: int, moment: dt.datetime) -> bool:
    """Return whether an endpoint has failed long and often enough to be disabled."""
    if failing_since is None or failures < DISABLE_AFTER_FAILURES:
        return False
    return moment - failing_since >= DISABLE_AFTER


def disable(webhook: Webhook, reason: str) -> None:
    """Disable a webhook and cancel its unsent deliveries, which can be replayed. Run it inside a transaction."""
    webhook.status, webhook.disabled_reason = DISABLED, reason
    webhook.save(update_fields=["status", "disabled_reason"])
    unsent = webhook.deliveries.filter(status__in=[Delivery.Status.PENDING, Delivery.Status.HELD], lease_token=None)
    unsent.update(status=Delivery.Status.CANCELED, next_attempt_at=None, finished_at=Now())


def _notify_owners(webhook: Webhook) -> None:
    """Mail the organization's owners that an endpoint was disabled. Runs inside a transaction."""
    text = (
        f"We stopped sending to {webhook.url}\n\nReason: {webhook.disabled_reason}\n\n"
        "Fix the endpoint, activate the webhook again, and replay the deliveries that it missed. Nothing was lost."
    )
    notice = Notice(f"Webhook disabled: {webhook.form.name}", text)
    targets = [mail_target(owner.email) for owner in _owners(webhook)]
    enqueue(WEBHOOK_DISABLED, notice, targets, organization_id=webhook.organization_id)


def _owners(webhook: Webhook) -> Iterable[User]:
    owning = {"memberships__organization": webhook.organization_id, "memberships__role": Role.OWNER}
    return User.objects.filter(is_active=True, **owning).order_by("email")
