"""
What came of a submission, told in order; and which submissions and endpoints need somebody's look.

accepted -> stored -> dispatched -> each attempt of each delivery -> how it ended (CONTRACT section 7).
"""

import dataclasses
import datetime as dt
from collections.abc import Iterator

from django.db.models import Q, QuerySet, Sum

from config.api.times import now
from keys.models import Organization
from submissions.models import Submission, Tally
from submissions.querysets import SubmissionQuerySet
from webhooks.models import Attempt, Delivery, Webhook
from webhooks.retention import LOG_KEPT

MOST_DELIVERIES = 100  # of one submission that are told
MOST_ATTEMPTS = 200
COUNTED_TO = 1_000  # deliveries that wait after a failure; beyond, nobody needs the number
STATUS = Delivery.Status
GOOD, BAD, WAITING, NEUTRAL = "good", "bad", "warn", "neutral"


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """
    One thing that happened, or will (`is_ahead`), at `at`.

    `look`: good, bad, warn or neutral. `target`: the URL or address, for what concerns one delivery; `answer`: the
    first 4 KiB of what came back. `delivery`: set where the delivery stands now, so that it can be retried.
    """

    at: dt.datetime | None
    title: str
    detail: str = ""
    look: str = NEUTRAL
    target: str = ""
    answer: str = ""
    delivery: Delivery | None = None
    is_ahead: bool = False


def tell_story(submission: Submission) -> list[Moment]:
    """Return everything that happened to a submission, oldest first; what stands last may still be ahead."""
    deliveries = list(_deliveries_of(submission)[: MOST_DELIVERIES + 1])
    moments = [*_beginning(submission), *_attempts(deliveries[:MOST_DELIVERIES]), *_ends(deliveries[:MOST_DELIVERIES])]
    moments += _dispatch(submission, has_deliveries=bool(deliveries))
    if len(deliveries) > MOST_DELIVERIES:
        moments.append(Moment(None, f"More than {MOST_DELIVERIES} deliveries", "The others are under Webhooks."))
    latest = dt.datetime.max.replace(tzinfo=dt.UTC)
    return sorted(moments, key=lambda moment: (moment.is_ahead, moment.at or latest))


def is_settled(submission: Submission, story: list[Moment]) -> bool:
    """Tell whether nothing more will happen by itself."""
    return submission.dispatched_at is not None and not any(moment.is_ahead for moment in story)


def _deliveries_of(submission: Submission) -> QuerySet[Delivery]:
    return Delivery.objects.filter(submission=submission).select_related("webhook").defer("body").order_by("id")


def _beginning(submission: Submission) -> Iterator[Moment]:
    origin = submission.meta.get("origin")
    yield Moment(submission.created_at, "Accepted and stored", f"From a page of {origin}" if origin else "", GOOD)
    if submission.spam:
        yield Moment(submission.created_at, "Taken for spam", "; ".join(submission.spam_reasons), BAD)
    if submission.released_at:
        yield Moment(submission.released_at, "Marked as not spam", "Delivered from here on like a new one.", GOOD)


def _dispatch(submission: Submission, *, has_deliveries: bool) -> Iterator[Moment]:
    if submission.dispatched_at is None:
        yield Moment(None, "Waiting to be dispatched", "A worker takes it in a moment.", WAITING, is_ahead=True)
        return
    if submission.spam:
        detail = "Spam is told to nobody."
    elif has_deliveries:
        detail = "Who is to be told was written down."
    elif now() - submission.dispatched_at > LOG_KEPT:
        detail = f"The log of its deliveries was kept for {LOG_KEPT.days} days and is gone."
    else:
        detail = "Nobody is to be told: the form had no webhook and no mail address then."
    yield Moment(submission.dispatched_at, "Dispatched", detail)


def _attempts(deliveries: list[Delivery]) -> Iterator[Moment]:
    by_id = {delivery.pk: delivery for delivery in deliveries}
    attempts = Attempt.objects.filter(delivery__in=deliveries).order_by("-id")[:MOST_ATTEMPTS]
    for attempt in attempts:
        delivery = by_id[attempt.delivery_id]
        status = f"{attempt.status}, " if attempt.status else ""
        why = f": {attempt.get_error_display().lower()}" if attempt.error else ""
        yield Moment(
            attempt.started_at,
            ("Not taken" if attempt.error else "Taken") + why,
            f"{status}{attempt.duration_ms:,} ms",
            BAD if attempt.error else GOOD,
            target=target_of(delivery),
            answer=attempt.response,
        )


def _ends(deliveries: list[Delivery]) -> Iterator[Moment]:
    for delivery in deliveries:
        title, detail, look = _standing(delivery)
        is_ahead = delivery.status == STATUS.PENDING
        at = delivery.next_attempt_at if is_ahead else delivery.finished_at or delivery.created_at
        yield Moment(at, title, detail, look, target_of(delivery), delivery=delivery, is_ahead=is_ahead)


def _standing(delivery: Delivery) -> tuple[str, str, str]:
    """Return `(title, detail, look)` of where a delivery stands."""
    if delivery.status == STATUS.DELIVERED:
        return "Delivered", "", GOOD
    if delivery.status == STATUS.FAILED:
        return "Given up", f"After {delivery.attempt_count} attempts. It can be sent again.", BAD
    if delivery.status == STATUS.HELD:
        return "Held", "A page named this webhook. It is sent as soon as somebody activates it.", WAITING
    if delivery.status == STATUS.CANCELED:
        return "Canceled", _why_canceled(delivery), WAITING
    if delivery.lease_token is not None:
        return "Being sent", "", WAITING
    return ("Next attempt", "", WAITING) if delivery.attempt_count else ("To be sent", "", WAITING)


def _why_canceled(delivery: Delivery) -> str:
    webhook = delivery.webhook
    if webhook is not None and webhook.status == Webhook.Status.DISABLED:
        return f"The webhook is disabled: {webhook.disabled_reason}"
    return "It was marked as spam, or the webhook was disabled before it was sent."


def target_of(delivery: Delivery) -> str:
    """Return where a delivery goes: the webhook's URL, or the mail address."""
    return delivery.webhook.url if delivery.webhook is not None else delivery.recipient


UNDELIVERED = Q(status__in=[STATUS.FAILED, STATUS.CANCELED, STATUS.HELD]) | Q(
    status=STATUS.PENDING, attempt_count__gt=0
)  # the condition of the index `delivery_undelivered`


def undelivered_submissions(rows: SubmissionQuerySet) -> SubmissionQuerySet:
    """Return those submissions that somebody should have heard of and has not: failed, canceled, held, tried again."""
    owed = Delivery.objects.filter(UNDELIVERED, kind=Delivery.Kind.SUBMISSION)
    return rows.filter(spam=False, pk__in=owed.values("submission"))


@dataclasses.dataclass(frozen=True, slots=True)
class Health:
    """Deliveries of what arrived in the last 24 hours, and what waits for somebody. `retrying` is counted to 1,000."""

    delivered_24h: int
    failed_24h: int
    retrying: int
    disabled_webhooks: int
    pending_webhooks: int

    @property
    def is_well(self) -> bool:
        """Tell whether nothing needs a look."""
        return not (self.failed_24h or self.retrying or self.disabled_webhooks)


def delivery_health(organization: Organization) -> Health:
    """Return how an organization's deliveries do. Three cheap queries, whatever its size."""
    since = now() - dt.timedelta(hours=24)
    sums = Tally.objects.filter(form__organization=organization, hour__gte=since).aggregate(
        delivered=Sum("delivered"), failed=Sum("failed")
    )
    retrying = Delivery.objects.filter(organization=organization, status=STATUS.PENDING, attempt_count__gt=0)
    webhooks = Webhook.objects.filter(form__organization=organization).exclude(status=Webhook.Status.ACTIVE)
    statuses = list(webhooks.values_list("status", flat=True))
    return Health(
        delivered_24h=sums["delivered"] or 0,
        failed_24h=sums["failed"] or 0,
        retrying=retrying[:COUNTED_TO].count(),
        disabled_webhooks=statuses.count(Webhook.Status.DISABLED),
        pending_webhooks=statuses.count(Webhook.Status.PENDING),
    )
