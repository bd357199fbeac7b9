"""How much a form or a receiver is used, in figures: pages and messages that say what a change stops."""

import datetime as dt

from django.contrib.humanize.templatetags.humanize import intcomma, naturaltime
from django.db.models import Sum
from django.utils.translation import gettext, ngettext

from config.base.times import now
from forms_app.models import Form
from submissions.models import Submission, Tally
from webhooks.models import Delivery, Receiver

DAYS = 7
COUNTED_TO = 1_000  # deliveries; a larger number is not counted further


def traffic_of_form(form: Form) -> str:
    """Say how many submissions without spam a form received in the last 7 days, and when the latest one."""
    newest = Submission.objects.filter(form=form, spam=False).listed().order_by("-id")
    last_at = newest.values_list("created_at", flat=True).first()
    if last_at is None:
        return gettext("It has not received a submission yet.")
    last = naturaltime(last_at)
    tallies = Tally.objects.filter(form=form, hour__gte=now() - dt.timedelta(days=DAYS))
    recent = tallies.aggregate(kept=Sum("kept", default=0))["kept"]
    if not recent:
        return gettext("It received its last submission %(last)s.") % {"last": last}
    return ngettext(
        "It received %(count)s submission in the last %(days)s days, the last one %(last)s.",
        "It received %(count)s submissions in the last %(days)s days, the last one %(last)s.",
        recent,
    ) % {"count": intcomma(recent), "days": DAYS, "last": last}


def size_of_log(of: Receiver) -> str:
    """Say how many deliveries a log has, counted to 1,000, and when the latest one was created."""
    last_at = of.deliveries.order_by("-id").values_list("created_at", flat=True).first()
    if last_at is None:
        return gettext("Nothing was sent to it yet.")
    count = of.deliveries.all()[: COUNTED_TO + 1].count()
    if count > COUNTED_TO:
        text = gettext("Its log has more than %(count)s deliveries, the last one %(last)s.")
    else:
        text = ngettext(
            "Its log has %(count)s delivery, the last one %(last)s.",
            "Its log has %(count)s deliveries, the last one %(last)s.",
            count,
        )
    return text % {"count": _counted(count), "last": naturaltime(last_at)}


def waiting_in_log(of: Receiver) -> str:
    """Say how many deliveries are canceled with their target; "" without any."""
    unsent = of.deliveries.filter(status__in=[Delivery.Status.PENDING, Delivery.Status.HELD])
    count = unsent[: COUNTED_TO + 1].count()
    if count > COUNTED_TO:
        text = gettext("More than %(count)s waiting deliveries are canceled.")
    else:
        text = ngettext("%(count)s waiting delivery is canceled.", "%(count)s waiting deliveries are canceled.", count)
    return text % {"count": _counted(count)} if count else ""


def _counted(count: int) -> str:
    return intcomma(min(count, COUNTED_TO))
