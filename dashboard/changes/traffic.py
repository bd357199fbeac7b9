"""How much a form or a receiver is used, in figures: pages and messages that say what a change stops."""

import dataclasses
import datetime as dt

from django.contrib.humanize.templatetags.humanize import intcomma, naturaltime
from django.db.models import Sum
from django.utils.translation import gettext, ngettext

from config.times import now
from forms_app.models import Form
from submissions.models import Submission, Tally
from webhooks.models import Delivery, Receiver

DAYS = 7
COUNTED_TO = 1_000  # deliveries; a larger number is not counted further


@dataclasses.dataclass(frozen=True, slots=True)
class FormTraffic:
    """Submissions of the last 7 days without spam, and the time of the latest one."""

    recent: int
    last_at: dt.datetime | None

    def __str__(self) -> str:
        if self.last_at is None:
            return gettext("It has not received a submission yet.")
        last = naturaltime(self.last_at)
        if not self.recent:
            return gettext("It received its last submission %(last)s.") % {"last": last}
        return ngettext(
            "It received %(count)s submission in the last %(days)s days, the last one %(last)s.",
            "It received %(count)s submissions in the last %(days)s days, the last one %(last)s.",
            self.recent,
        ) % {"count": intcomma(self.recent), "days": DAYS, "last": last}


def traffic_of_form(form: Form) -> FormTraffic:
    """Return the traffic of a form: at most 168 tallies, and one row."""
    tallies = Tally.objects.filter(form=form, hour__gte=now() - dt.timedelta(days=DAYS))
    rows = Submission.objects.filter(form=form, spam=False).confirmed().order_by("-id")
    last = rows.values_list("created_at", flat=True).first()
    return FormTraffic(tallies.aggregate(kept=Sum("kept"))["kept"] or 0, last)


@dataclasses.dataclass(frozen=True, slots=True)
class LogSize:
    """A log: its deliveries and those that are not sent yet, each counted to 1,000, and the latest one."""

    deliveries: int
    unsent: int
    last_at: dt.datetime | None

    def __str__(self) -> str:
        if self.last_at is None:
            return gettext("Nothing was sent to it yet.")
        if self.deliveries > COUNTED_TO:
            text = gettext("Its log has more than %(count)s deliveries, the last one %(last)s.")
        else:
            text = ngettext(
                "Its log has %(count)s delivery, the last one %(last)s.",
                "Its log has %(count)s deliveries, the last one %(last)s.",
                self.deliveries,
            )
        return text % {"count": _counted(self.deliveries), "last": naturaltime(self.last_at)}

    @property
    def waiting(self) -> str:
        """A sentence about the deliveries that are canceled with their target; "" without any."""
        if not self.unsent:
            return ""
        if self.unsent > COUNTED_TO:
            text = gettext("More than %(count)s waiting deliveries are canceled.")
        else:
            text = ngettext(
                "%(count)s waiting delivery is canceled.", "%(count)s waiting deliveries are canceled.", self.unsent
            )
        return text % {"count": _counted(self.unsent)}


def log_size(of: Receiver) -> LogSize:
    """Return the size of a log, read from its index and no further than it is counted."""
    log = of.deliveries.all()
    unsent = log.filter(status__in=[Delivery.Status.PENDING, Delivery.Status.HELD])
    last = log.order_by("-id").values_list("created_at", flat=True).first()
    return LogSize(log[: COUNTED_TO + 1].count(), unsent[: COUNTED_TO + 1].count(), last)


def _counted(count: int) -> str:
    return intcomma(min(count, COUNTED_TO))
