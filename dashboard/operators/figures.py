"""
The figures of the operators' overview: the queue, failures, organizations, mails, bytes and refusals of the service.

Each query reads an index, a table with a row for each organization, or at most the number of rows that is named here:
the page is opened when tables are large and the service is in trouble.
"""

import dataclasses
import datetime as dt
from collections import Counter
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Now

from config.base.times import now
from config.health import PROBLEMS
from dashboard.pages.overview.activity import share
from forms_app.models import FormReport
from keys.models import Organization
from submissions.counts.usage import today
from submissions.models import Refusal, Submission, UsageDay
from webhooks.channels.webhook import OPEN_AFTER_FAILURES
from webhooks.enqueue import MAIL
from webhooks.models import Attempt, DelivererSlots, Delivery, ErrorClass

COUNTED_TO = 10_000  # a larger number is not counted further
READ = 1_000  # of the oldest due deliveries; and of the newest refusals
ATTEMPTS_READ = 5_000  # the newest ones, by class
BUSIEST = 10  # organizations
LATE = dt.timedelta(minutes=5)  # after this a due delivery is late (docs/running.md, "Health")
DELIVERING = (DelivererSlots.Role.WORKER, DelivererSlots.Role.DELIVER)
UNDISPATCHED_LATE = dt.timedelta(minutes=1)


@dataclasses.dataclass(frozen=True, slots=True)
class Backlog:
    """Rows that wait, counted to 10,000, and the time since which the oldest one is due."""

    count: int
    oldest: dt.datetime | None
    late_before: dt.datetime

    @property
    def is_late(self) -> bool:
        return self.oldest is not None and self.oldest < self.late_before

    @property
    def is_cut(self) -> bool:
        return self.count >= COUNTED_TO


@dataclasses.dataclass(frozen=True, slots=True)
class Queue:
    """
    `at_endpoints`: those among the oldest 1,000 due deliveries that only wait for an endpoint that is down.
    `deliverers`: living workers and `deliver` processes. `slots`: of those with deliveries in flight.
    """

    due: Backlog
    undispatched: Backlog
    at_endpoints: int
    mails: int
    held: int
    deliverers: int
    slots: int


def queue() -> Queue:
    """Return the waiting submissions and deliveries, and the processes that send them."""
    moment = now()
    pending = Delivery.objects.filter(status=Delivery.Status.PENDING)
    due = pending.filter(next_attempt_at__lte=moment).order_by("next_attempt_at")
    oldest = list(due.values_list("next_attempt_at", "receiver__failure_count")[:READ])
    waiting = [at for at, failures in oldest if (failures or 0) < OPEN_AFTER_FAILURES]
    undispatched = Submission.objects.dispatchable()
    first = undispatched.order_by("id").values_list("created_at", flat=True).first()
    alive = living().aggregate(
        count=Count("pk", filter=Q(role__in=DELIVERING)), slots=Sum(F("slots") + F("mail_slots"), default=0)
    )
    return Queue(
        due=Backlog(due[:COUNTED_TO].count(), waiting[0] if waiting else None, moment - LATE),
        undispatched=Backlog(undispatched[:COUNTED_TO].count(), first, moment - UNDISPATCHED_LATE),
        at_endpoints=len(oldest) - len(waiting),
        mails=due.filter(channel=MAIL)[:COUNTED_TO].count() if oldest else 0,
        held=Organization.objects.filter(held_posts__gt=0).aggregate(held=Sum("held_posts", default=0))["held"],
        deliverers=alive["count"],
        slots=alive["slots"],
    )


def living() -> QuerySet[DelivererSlots]:
    """Return the processes whose heartbeat is recent, by the database's clock."""
    return DelivererSlots.objects.filter(alive_until__gt=Now())


def failures() -> dict[str, Any]:
    """
    Return the newest attempts, at most 5,000 and at most a day old, and the failed ones by class, most frequent first.

    `percent` of the failed ones is rounded up, so that 0 means none.
    """
    newest = Attempt.objects.filter(started_at__gte=now() - dt.timedelta(days=1)).order_by("-started_at")
    rows = list(newest.values_list("error", "started_at")[:ATTEMPTS_READ])
    labels = dict(ErrorClass.choices)
    by_class = Counter(str(labels.get(error, error)) for error, _ in rows if error)
    failed = by_class.total()
    return {
        "attempts": len(rows),
        "failed": failed,
        "percent": -(-100 * failed // len(rows)) if rows else 0,
        "since": rows[-1][1] if rows else None,
        "classes": _shares(by_class),
    }


def refusals() -> list[dict[str, Any]]:
    """Return refused submissions of the last hour by code, of the 1,000 most recent kinds, most frequent first."""
    recent = Refusal.objects.filter(last_at__gte=now() - dt.timedelta(hours=1)).order_by("-last_at")
    by_code: Counter[str] = Counter()
    for code, count in recent.values_list("code", "count")[:READ]:
        by_code[code.replace("_", " ").capitalize()] += count
    return _shares(by_code)


def _shares(counts: Counter[str]) -> list[dict[str, Any]]:
    """Return `{label, count, percent}` of each, most frequent first."""
    total = counts.total()
    return [{"label": label, "count": n, "percent": share(n, total)} for label, n in counts.most_common()]


def days() -> dict[str, dict[str, int]]:
    """Return the sums over all organizations on two UTC days, `{today, yesterday}`."""
    sums = {name: Sum(name, default=0) for name in ("submissions", "mails", "refusals")}
    at = {"today": today(), "yesterday": today() - dt.timedelta(days=1)}
    return {name: UsageDay.objects.filter(day=day).aggregate(**sums) for name, day in at.items()}


def busiest() -> list[UsageDay]:
    """Return today's usage of the organizations with most submissions, with their organization."""
    rows = UsageDay.objects.filter(day=today()).select_related("organization")
    return list(rows.order_by("-submissions", "-refusals")[:BUSIEST])


def organizations() -> dict[str, int]:
    """Return `{count, suspended, deleting, stored_bytes}`, and the open reports of forms as `reports`."""
    sums = Organization.objects.aggregate(
        count=Count("pk"),
        suspended=Count("pk", filter=Q(suspended_at__isnull=False)),
        deleting=Count("pk", filter=Q(deletion_requested_at__isnull=False)),
        stored_bytes=Sum("stored_bytes", default=0),
    )
    return {**sums, "reports": FormReport.objects.filter(handled_at=None)[:COUNTED_TO].count()}


def overview() -> dict[str, Any]:
    return {
        "moment": now(),
        "problems": PROBLEMS.now(),
        "queue": queue(),
        "failures": failures(),
        "refusals": refusals(),
        "days": days(),
        "busiest": busiest(),
        "organizations": organizations(),
    }
