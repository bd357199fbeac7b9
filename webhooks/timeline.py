"""
What came of a submission, told in order; and which submissions and endpoints need somebody's look.

accepted -> stored -> dispatched -> each attempt of each delivery -> how it ended (CONTRACT section 7).
"""

import dataclasses
import datetime as dt
from collections.abc import Iterator

from django.db.models import Q, QuerySet, Sum

from config.database import snapshot
from config.times import now
from forms_app.models import Form
from keys.models import Organization
from submissions.models import Submission, SubmissionQuerySet, Tally
from webhooks.models import Attempt, Delivery, Webhook
from webhooks.retention import LOG_KEPT

MOST_DELIVERIES = 100  # of one submission that are told
MOST_ATTEMPTS = 200
MAILS_OF_NEWEST = 5_000  # submissions of a form, whose mails are found
COUNTED_TO = 1_000  # deliveries that wait after a failure; beyond, nobody needs the number
STATUS = Delivery.Status
GOOD, BAD, WAITING, NEUTRAL = "good", "bad", "warn", "neutral"


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """
    One thing that happened, or will (`is_ahead`), at `at`.

    `look`: good, bad, warn or neutral. `target`: the URL or address, for what concerns one delivery; `answer`: the
    first 4 KiB of what came back in the attempt `attempt`. `delivery`: set where the delivery stands now, so that it
    can be retried.
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
    """Return everything that happened to a submission, oldest first; what stands last may still be ahead."""
    with snapshot() as alias:  # a result recorded between the two reads would be told as "Taken" and "Being sent"
        found = list(_deliveries_of(submission).using(alias)[: MOST_DELIVERIES + 1])
        deliveries = found[:MOST_DELIVERIES]
        attempts = list(_attempts_of(deliveries).using(alias)[: MOST_ATTEMPTS + 1])
    moments = [*_beginning(submission), *_dispatch(submission, has_deliveries=bool(deliveries))]
    moments += _tries(deliveries, attempts[:MOST_ATTEMPTS])
    moments += _ends(submission, deliveries)
    if len(found) > MOST_DELIVERIES:
        moments.append(Moment(None, f"More than {MOST_DELIVERIES} deliveries", "The others are under Webhooks."))
    if len(attempts) > MOST_ATTEMPTS:
        moments.append(Moment(None, f"More than {MOST_ATTEMPTS} attempts", "Only the newest are told here."))
    latest = dt.datetime.max.replace(tzinfo=dt.UTC)
    return sorted(moments, key=lambda moment: (moment.is_ahead, moment.at or latest))


def is_settled(submission: Submission, story: list[Moment]) -> bool:
    """Tell whether nothing more will happen by itself."""
    return submission.dispatched_at is not None and not any(moment.is_ahead for moment in story)


def _deliveries_of(submission: Submission) -> QuerySet[Delivery]:
    return Delivery.objects.filter(submission=submission).select_related("webhook").defer("body").order_by("id")


def _attempts_of(deliveries: list[Delivery]) -> QuerySet[Attempt]:
    return Attempt.objects.filter(delivery__in=deliveries).order_by("-id")


def _beginning(submission: Submission) -> Iterator[Moment]:
    origin, address = submission.meta.get("origin"), submission.meta.get("ip")
    words = [
        f"As {submission.public_id}",
        f"from a page of {origin}" if origin else "",
        f"by {address}" if address else "",
    ]
    yield Moment(submission.created_at, "Accepted and stored", ", ".join(filter(None, words)), GOOD)
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
    elif now() - submission.dispatched_at > LOG_KEPT:
        detail = f"The log is kept for {LOG_KEPT.days} days; what it held of this time is gone."
    elif has_deliveries:
        detail = "Who is to be told was written down."
    else:
        detail = "Nobody is to be told: the form had no webhook and no mail address then."
    yield Moment(submission.dispatched_at, "Dispatched", detail)


def _tries(deliveries: list[Delivery], attempts: list[Attempt]) -> Iterator[Moment]:
    by_id = {delivery.pk: delivery for delivery in deliveries}
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
            attempt=attempt.pk,
        )


def _ends(submission: Submission, deliveries: list[Delivery]) -> Iterator[Moment]:
    moment = now()
    for delivery in deliveries:
        title, detail, look = _standing(submission, delivery, moment)
        is_ahead = delivery.status == STATUS.PENDING
        at = delivery.next_attempt_at if is_ahead else delivery.finished_at or delivery.created_at
        yield Moment(at, title, detail, look, target_of(delivery), delivery=delivery, is_ahead=is_ahead)


def _standing(submission: Submission, delivery: Delivery, moment: dt.datetime) -> tuple[str, str, str]:
    """Return `(title, detail, look)` of where a delivery stands."""
    if delivery.status == STATUS.DELIVERED:
        return "Delivered", "", GOOD
    if delivery.status == STATUS.FAILED:
        tries = f"{delivery.attempt_count} attempt{'' if delivery.attempt_count == 1 else 's'}"
        return "Given up", f"After {tries}. It can be sent again.", BAD
    if delivery.status == STATUS.HELD:
        return "Held", "A page named this webhook. It is sent as soon as somebody activates it.", WAITING
    if delivery.status == STATUS.CANCELED:
        return "Canceled", _why_canceled(submission, delivery), WAITING
    if delivery.lease_until is not None and delivery.lease_until > moment:
        return "Being sent", "", WAITING
    return ("Next attempt", "", WAITING) if delivery.attempt_count else ("To be sent", "", WAITING)


def _why_canceled(submission: Submission, delivery: Delivery) -> str:
    webhook = delivery.webhook
    if submission.spam:
        return "The submission was marked as spam before it was sent."
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


def by_way(rows: QuerySet[Delivery], form: Form | None) -> tuple[QuerySet[Delivery], QuerySet[Delivery]]:
    """
    Return `(to webhooks, mails)` of these deliveries, of one form if given.

    A delivery does not know its form. Asking its submission would read millions of rows for a form with few, so a
    form's are those of its webhooks, and the mails of its newest `MAILS_OF_NEWEST` submissions.
    """
    if form is None:
        return rows.filter(webhook__isnull=False), rows.filter(webhook=None)
    own = list(Webhook.objects.filter(form=form).values_list("pk", flat=True))
    newest = Submission.objects.filter(form=form).order_by("-id").values("pk")[:MAILS_OF_NEWEST]
    return rows.filter(webhook__in=own), rows.filter(webhook=None, submission__in=newest)


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
