"""
The activity of a submission, in order.

accepted -> stored -> dispatched -> each attempt of each delivery -> its result (docs/contract.md 7).
"""

import dataclasses
import datetime as dt
from collections.abc import Iterator

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import QuerySet
from django.utils.translation import gettext, ngettext

from config.database import snapshot
from config.times import now
from keys.choices import within_sentence
from submissions.models import Submission
from webhooks.channels.destinations.kinds import KINDS
from webhooks.channels.registry import CHANNELS
from webhooks.models import Attempt, Delivery, Destination, Webhook
from webhooks.retention import LOG_KEPT

MAX_DELIVERIES = 100  # of one submission
MAX_ATTEMPTS = 200
STATUS = Delivery.Status
GOOD, BAD, WAITING, NEUTRAL = "good", "bad", "warn", "neutral"


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """
    One thing that happened, or will happen (`is_ahead`), at `at`.

    `look`: good, bad, warn or neutral. `target`: the URL or address, if it concerns one delivery. `answer`: the first
    4 KiB of the answer to the attempt `attempt`. `delivery`: set on the current state of a delivery, which can be
    retried there.
    """

    at: dt.datetime | None
    title: str
    detail: str = ""
    look: str = NEUTRAL
    target: str = ""
    answer: str = ""
    attempt: int | None = None
    delivery: Delivery | None = None
    is_ahead: bool = False


def tell_story(submission: Submission) -> list[Moment]:
    """Return everything that happened to a submission, oldest first; the last moments may be ahead."""
    with snapshot() as alias:  # a result recorded between the two reads would show as succeeded and as being sent
        found = list(_deliveries_of(submission).using(alias)[: MAX_DELIVERIES + 1])
        deliveries = found[:MAX_DELIVERIES]
        attempts = list(_attempts_of(deliveries).using(alias)[: MAX_ATTEMPTS + 1])
    moments = [*_beginning(submission), *_dispatch(submission, has_deliveries=bool(deliveries))]
    moments += _attempts(deliveries, attempts[:MAX_ATTEMPTS])
    moments += _states(submission, deliveries)
    if len(found) > MAX_DELIVERIES:
        title = gettext("More than %(most)s deliveries") % {"most": MAX_DELIVERIES}
        moments.append(Moment(None, title, gettext("The others are listed under Webhooks.")))
    if len(attempts) > MAX_ATTEMPTS:
        title = gettext("More than %(most)s attempts") % {"most": MAX_ATTEMPTS}
        moments.append(Moment(None, title, gettext("Only the newest are shown here.")))
    latest = dt.datetime.max.replace(tzinfo=dt.UTC)
    return sorted(moments, key=lambda moment: (moment.is_ahead, moment.at or latest))


def is_settled(submission: Submission, story: list[Moment]) -> bool:
    """Return whether nothing more will happen by itself."""
    return submission.dispatched_at is not None and not any(moment.is_ahead for moment in story)


def takes_deliveries(delivery: Delivery) -> bool:
    """Return whether the webhook or destination of a delivery is active; True for mails."""
    if delivery.webhook is not None:
        return delivery.webhook.status == Webhook.Status.ACTIVE
    return delivery.destination is None or delivery.destination.status == Destination.Status.ACTIVE


def target_of(delivery: Delivery) -> str:
    """Return the target of a delivery as people know it: a webhook's URL, a destination's name, a mail address."""
    if delivery.destination is not None:
        kind = KINDS.get(delivery.destination.kind)
        return f"{kind.label if kind else delivery.destination.kind}: {delivery.destination.name}"
    return CHANNELS[delivery.channel].describe(delivery) if delivery.channel in CHANNELS else delivery.target


def _deliveries_of(submission: Submission) -> QuerySet[Delivery]:
    return Delivery.objects.filter(submission=submission).select_related("webhook", "destination").order_by("id")


def _attempts_of(deliveries: list[Delivery]) -> QuerySet[Attempt]:
    return Attempt.objects.filter(delivery__in=deliveries).order_by("-id")


def _beginning(submission: Submission) -> Iterator[Moment]:
    if submission.is_test:
        detail = gettext("From the dashboard. Origins, captcha and proof of work were not checked.")
        yield Moment(submission.created_at, gettext("Sent as a test"), detail)
    yield Moment(submission.created_at, gettext("Accepted and stored"), _received(submission), GOOD)
    copy_to = submission.controls.get("_cc")
    if copy_to:
        detail = gettext(
            "The page asked for a copy to %(address)s. Add that address to the mails of the form instead."
        ) % {"address": copy_to[:200]}
        yield Moment(submission.created_at, gettext("No copy was mailed"), detail, WAITING)
    if submission.spam:
        yield Moment(
            submission.created_at, gettext("Marked as spam"), "; ".join(map(gettext, submission.spam_reasons)), BAD
        )
    if submission.held or submission.held_until:
        yield Moment(
            submission.created_at, gettext("Held"), gettext("This hour's requests for web pages were used up."), WAITING
        )
    if submission.held_until:
        yield Moment(submission.held_until, gettext("No longer held"), "", GOOD)
    if submission.released_at and submission.released_at != submission.held_until:
        yield Moment(
            submission.released_at, gettext("Marked as not spam"), gettext("Delivered like a new submission."), GOOD
        )


def _received(submission: Submission) -> str:
    origin, address = submission.meta.get("origin"), submission.meta.get("ip")
    if origin and address:
        text = gettext("As %(id)s, from a page of %(origin)s, by %(address)s")
    elif origin:
        text = gettext("As %(id)s, from a page of %(origin)s")
    elif address:
        text = gettext("As %(id)s, by %(address)s")
    else:
        text = gettext("As %(id)s")
    return text % {"id": submission.public_id, "origin": origin, "address": address}


def _dispatch(submission: Submission, *, has_deliveries: bool) -> Iterator[Moment]:
    if submission.held:
        detail = gettext("When the next hour starts, on a larger plan, or when you release it.")
        yield Moment(None, gettext("Waiting for room in the hour"), detail, WAITING, is_ahead=True)
        return
    if submission.dispatched_at is None:
        yield Moment(
            None, gettext("Waiting for dispatch"), gettext("A worker takes it within seconds."), WAITING, is_ahead=True
        )
        return
    if submission.spam:
        detail = gettext("Spam is not delivered.")
    elif now() - submission.dispatched_at > LOG_KEPT:
        detail = gettext("The log is kept for %(days)s days. Its entries for this submission are deleted.") % {
            "days": LOG_KEPT.days
        }
    elif has_deliveries:
        detail = gettext("Its deliveries were created.")
    else:
        detail = gettext("Without deliveries: the form had no webhook, no destination and no mail address.")
    yield Moment(submission.dispatched_at, gettext("Dispatched"), detail)


def _attempts(deliveries: list[Delivery], attempts: list[Attempt]) -> Iterator[Moment]:
    by_id = {delivery.pk: delivery for delivery in deliveries}
    for attempt in attempts:
        delivery = by_id[attempt.delivery_id]
        status = f"{attempt.status}, " if attempt.status else ""
        yield Moment(
            attempt.started_at,
            _attempted(attempt),
            f"{status}{intcomma(attempt.duration_ms)} ms",
            BAD if attempt.error else GOOD,
            target=target_of(delivery),
            answer=attempt.response,
            attempt=attempt.pk,
        )


def _attempted(attempt: Attempt) -> str:
    if not attempt.error:
        return gettext("Attempt succeeded")
    return gettext("Attempt failed: %(reason)s") % {"reason": within_sentence(attempt.get_error_display())}


def _states(submission: Submission, deliveries: list[Delivery]) -> Iterator[Moment]:
    moment = now()
    for delivery in deliveries:
        title, detail, look = _state(submission, delivery, moment)
        is_ahead = delivery.status == STATUS.PENDING
        at = delivery.expected_at if is_ahead else delivery.finished_at or delivery.created_at
        if delivery.waits_for_resume:
            at = None
        yield Moment(at, title, detail, look, target_of(delivery), delivery=delivery, is_ahead=is_ahead)


def _state(submission: Submission, delivery: Delivery, moment: dt.datetime) -> tuple[str, str, str]:
    """Return `(title, detail, look)` of a delivery's current state."""
    if delivery.status == STATUS.DELIVERED:
        return gettext("Delivered"), "", GOOD
    if delivery.status == STATUS.FAILED:
        detail = ngettext(
            "After %(count)s attempt. You can send it again.",
            "After %(count)s attempts. You can send it again.",
            delivery.attempt_count,
        ) % {"count": delivery.attempt_count}
        return gettext("Failed"), detail, BAD
    if delivery.status == STATUS.HELD and delivery.destination is not None:
        detail = gettext("%(reason)s The delivery is sent when that is corrected.")
        return gettext("Held"), detail % {"reason": delivery.destination.shown_reason}, WAITING
    if delivery.status == STATUS.HELD:
        return (
            gettext("Held"),
            gettext("A page named this webhook. The delivery is sent when you activate the webhook."),
            WAITING,
        )
    if delivery.status == STATUS.CANCELED:
        return gettext("Canceled"), _why_canceled(submission, delivery), WAITING
    if delivery.lease_until is not None and delivery.lease_until > moment:
        return gettext("Sending"), "", WAITING
    if delivery.waits_for_resume:
        return (
            gettext("Waiting"),
            gettext("This organization is suspended. The delivery is sent when it is resumed."),
            WAITING,
        )
    if delivery.waits_for_endpoint:
        return (
            gettext("Waiting"),
            gettext("The endpoint fails, so it gets one attempt each 30 seconds until one succeeds."),
            WAITING,
        )
    return (gettext("Next attempt"), "", WAITING) if delivery.attempt_count else (gettext("Queued"), "", WAITING)


def _why_canceled(submission: Submission, delivery: Delivery) -> str:
    webhook, destination = delivery.webhook, delivery.destination
    if submission.spam:
        return gettext("The submission was marked as spam before it was sent.")
    if destination is not None and destination.status == Destination.Status.DISABLED:
        return gettext("The destination is disabled: %(reason)s") % {"reason": destination.shown_reason}
    if destination is not None:
        return gettext("It was marked as spam, or the destination was disabled before it was sent.")
    if webhook is not None and webhook.status == Webhook.Status.DISABLED:
        return gettext("The webhook is disabled: %(reason)s") % {"reason": webhook.shown_reason}
    return gettext("It was marked as spam, or the webhook was disabled before it was sent.")
