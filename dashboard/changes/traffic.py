"""How much a form or a webhook is used, in figures: pages and messages that say what a change stops."""

import dataclasses
import datetime as dt

from django.contrib.humanize.templatetags.humanize import naturaltime
from django.db.models import Sum

from config.times import now
from forms_app.models import Form
from submissions.models import Submission, Tally
from webhooks.models import Delivery, Webhook

DAYS = 7
COUNTED_TO = 1_000  # deliveries; a larger number is not counted further


@dataclasses.dataclass(frozen=True, slots=True)
class FormTraffic:
    """Submissions of the last 7 days without spam, and the time of the latest one."""

    recent: int
    last_at: dt.datetime | None

    def __str__(self) -> str:
        if self.last_at is None:
            return "It has not received a submission yet."
        last = naturaltime(self.last_at)
        if not self.recent:
            return f"It received its last submission {last}."
        plural = "" if self.recent == 1 else "s"
        return f"It received {self.recent:,} submission{plural} in the last {DAYS} days, the last one {last}."


def traffic_of_form(form: Form) -> FormTraffic:
    """Return the traffic of a form: at most 168 tallies, and one row."""
    tallies = Tally.objects.filter(form=form, hour__gte=now() - dt.timedelta(days=DAYS))
    rows = Submission.objects.filter(form=form, spam=False).order_by("-id")
    last = rows.values_list("created_at", flat=True).first()
    return FormTraffic(tallies.aggregate(kept=Sum("kept"))["kept"] or 0, last)


@dataclasses.dataclass(frozen=True, slots=True)
class LogSize:
    """A webhook's log: its deliveries and those that are not sent yet, each counted to 1,000, and the latest one."""

    deliveries: int
    unsent: int
    last_at: dt.datetime | None

    def __str__(self) -> str:
        if self.last_at is None:
            return "Nothing was sent to it yet."
        plural = "y" if self.deliveries == 1 else "ies"
        return f"Its log has {_counted(self.deliveries)} deliver{plural}, the last one {naturaltime(self.last_at)}."

    @property
    def waiting(self) -> str:
        """A sentence about the deliveries that are canceled with the webhook; "" without any."""
        if not self.unsent:
            return ""
        plural = "y is" if self.unsent == 1 else "ies are"
        return f"{_counted(self.unsent, capital=True)} waiting deliver{plural} canceled."


def log_size(webhook: Webhook) -> LogSize:
    """Return the size of a webhook's log, read from its index and no further than it is counted."""
    log = Delivery.objects.filter(webhook=webhook)
    unsent = log.filter(status__in=[Delivery.Status.PENDING, Delivery.Status.HELD])
    last = log.order_by("-id").values_list("created_at", flat=True).first()
    return LogSize(log[: COUNTED_TO + 1].count(), unsent[: COUNTED_TO + 1].count(), last)


def _counted(count: int, *, capital: bool = False) -> str:
    if count <= COUNTED_TO:
        return f"{count:,}"
    return f"{'More' if capital else 'more'} than {COUNTED_TO:,}"
