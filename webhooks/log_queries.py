"""Queries over the delivery log: undelivered submissions, the parts of a filtered log, delivery health."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Collection

from django.db.models import Prefetch, Q, QuerySet, Sum

from config.base.times import now
from forms_app.models import Form
from keys.seen_forms import SeenForms
from submissions.models import Submission, SubmissionQuerySet, Tally
from webhooks.models import ATTEMPTS_KEPT, DESTINATION, WEBHOOK, Attempt, Delivery, DeliveryQuerySet, Receiver

MAILS_OF_NEWEST = 5_000  # submissions of a form whose mails and deliveries to receivers of all forms are found
COUNTED_TO = 1_000  # deliveries waiting for a retry; a larger number is not counted further
NEWEST = 100  # deliveries to a receiver whose results are summed up
ANSWERS_SHOWN = 1 << 20  # characters of receivers' answers in one page of a log; older ones are left out
ANSWERS_READ = 100  # in one query: each has up to 4,096 characters
STATUS = Delivery.Status

UNDELIVERED = Q(status__in=[STATUS.FAILED, STATUS.CANCELED, STATUS.HELD]) | Q(
    status=STATUS.PENDING, attempt_count__gt=0
)  # the condition of the index `delivery_undelivered`


def undelivered_submissions(rows: SubmissionQuerySet) -> SubmissionQuerySet:
    """Return the submissions with an undelivered delivery: failed, canceled, held, or waiting for a retry."""
    undelivered = Delivery.objects.filter(UNDELIVERED, submission__isnull=False)
    return rows.filter(spam=False, pk__in=undelivered.values("submission"))


def newest_attempts() -> "Prefetch[str]":
    """Return the prefetch of deliveries' `newest_attempts`, without requests and answers, which can be large."""
    newest = Attempt.objects.defer("request", "response").order_by("-id")
    return Prefetch("attempts", newest[:ATTEMPTS_KEPT], to_attr="newest_attempts")


def load_answers(deliveries: Collection[Delivery]) -> None:
    """Load the receivers' answers to the prefetched attempts of a page: the newest ones, up to ANSWERS_SHOWN."""
    attempts = sorted((one for each in deliveries for one in each.newest_attempts), key=lambda one: -one.pk)
    room = ANSWERS_SHOWN
    for start in range(0, len(attempts), ANSWERS_READ):
        batch = attempts[start : start + ANSWERS_READ]
        wanted = Attempt.objects.filter(pk__in=[one.pk for one in batch]).values_list("pk", "response")
        answers = dict(wanted) if room > 0 else {}
        for one in batch:
            answer = answers.get(one.pk, "")
            room -= len(answer)
            one.response = answer if room >= 0 else ""


def by_channel(
    rows: QuerySet[Delivery], form_ids: Collection[uuid.UUID] | None, *, channel: str = ""
) -> list[QuerySet[Delivery]]:
    """
    Return the deliveries of these forms and one channel, if given, in parts that do not overlap, each with an index.

    A delivery does not know its form, and asking its submission would read millions of rows for a form with few. So a
    form's deliveries are those to its receivers, and the others, those to receivers of all forms among them, of the
    newest `MAILS_OF_NEWEST` submissions of these forms.
    """
    if channel:
        rows = rows.filter(channel=channel)
    if form_ids is None:
        return [rows]
    organizations = Form.objects.filter(pk__in=form_ids).values("organization")
    receivers = Receiver.objects.filter(Q(form__in=form_ids) | Q(form=None, organization__in=organizations))
    serving = receivers.values_list("pk", "form")
    own = [pk for pk, of in serving if of is not None]
    of_all_forms = [pk for pk, of in serving if of is None]
    newest = Submission.objects.filter(form__in=form_ids).order_by("-id").values("pk")[:MAILS_OF_NEWEST]
    to_own = rows.filter(receiver__in=own)
    others = rows.filter(Q(receiver=None) | Q(receiver__in=of_all_forms), submission__in=newest)
    if channel in (WEBHOOK, DESTINATION):
        return [to_own, others] if of_all_forms else [to_own]
    return [others] if channel else [to_own, others]


@dataclasses.dataclass(frozen=True, slots=True)
class Health:
    """Deliveries of submissions of the last 24 hours, and work that waits. `retrying` is at most 1,000."""

    delivered_24h: int
    failed_24h: int
    retrying: int
    disabled_webhooks: int
    pending_webhooks: int


def delivery_health(seen: SeenForms) -> Health:
    """
    Return the health of the deliveries of an organization or of chosen forms, which have no webhooks for their readers.

    Three cheap queries, whatever their size.
    """
    since = now() - dt.timedelta(hours=24)
    forms = seen.narrow(Form.objects.all(), "pk")
    sums = Tally.objects.filter(form__in=forms, hour__gte=since).aggregate(
        delivered=Sum("delivered"), failed=Sum("failed")
    )
    pending = Delivery.objects.filter(status=STATUS.PENDING, attempt_count__gt=0)
    retrying = seen.narrow(pending.of_mode(seen.organization_id, test=False), "submission__form")
    stopped = Receiver.objects.webhooks().filter(organization=seen.organization_id)
    stopped = stopped.exclude(status=Receiver.Status.ACTIVE)
    statuses = [] if seen.are_chosen else list(stopped.values_list("status", flat=True))
    return Health(
        delivered_24h=sums["delivered"] or 0,
        failed_24h=sums["failed"] or 0,
        retrying=retrying[:COUNTED_TO].count(),
        disabled_webhooks=statuses.count(Receiver.Status.DISABLED),
        pending_webhooks=statuses.count(Receiver.Status.PENDING),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Results:
    """
    The results of the newest deliveries to a receiver, at most 100, and their latest attempt.

    `waiting`: deliveries that are not sent yet, older ones too, counted to 1,000.
    """

    delivered: int
    failed: int
    waiting: int
    last: Attempt | None

    @property
    def finished(self) -> int:
        return self.delivered + self.failed

    @property
    def success_rate(self) -> int | None:
        """Percent, rounded down, so that 100 means that none failed; None without a finished one."""
        return 100 * self.delivered // self.finished if self.finished else None


def log_of(receiver: Receiver, *, test: bool) -> DeliveryQuerySet:
    """Return a receiver's deliveries of one mode and its test events; all of one that gets test submissions only."""
    log = Delivery.objects.filter(receiver=receiver)
    if receiver.mode == Receiver.Mode.TEST:
        return log
    if not test:
        return log.of_mode(receiver.organization_id, test=False)
    return log.filter(Q(submission=None) | Q(submission__in=Submission.objects.ids_of_tests(receiver.organization_id)))


def recent_results(log: DeliveryQuerySet) -> Results:
    """Return how recent deliveries of a log went. Three queries, each on an index, whatever the size of the log."""
    newest = list(log.order_by("-id").values_list("pk", "status")[:NEWEST])
    statuses = [status for _, status in newest]
    attempts = Attempt.objects.filter(delivery__in=[pk for pk, _ in newest])
    return Results(
        delivered=statuses.count(STATUS.DELIVERED),
        failed=statuses.count(STATUS.FAILED),
        waiting=log.filter(status__in=[STATUS.PENDING, STATUS.HELD])[:COUNTED_TO].count(),
        last=attempts.defer("response", "request").order_by("-started_at", "-pk").first(),
    )
