"""Notices to owners that their hour is nearly or wholly used up (docs/contract.md 2.16)."""

import datetime as dt
from collections.abc import Sequence

from django.conf import settings
from django.db import transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

from config.api.ratelimit import Usage
from config.base.times import now
from keys.models import HourMark, Organization
from keys.notices import notify_owners

SHOWN = dt.timedelta(hours=24)
SUBJECT = gettext_lazy("%(mark)s %% of this hour's requests are used: %(organization)s")
USED = gettext_lazy(
    "At %(time)s UTC %(organization)s had used %(mark)s %% of its %(limit)s requests an hour. "
    "The next hour starts at %(end)s UTC."
)
CONSEQUENCES = {
    80: gettext_lazy("Nothing is refused yet."),
    90: gettext_lazy(
        "Submissions from web pages wait until the hour ends: our script sends them again, and those of plain HTML "
        "forms and hosted pages are stored as held. The last tenth is kept for your own requests."
    ),
    100: gettext_lazy(
        "Until the hour ends, requests with your secret keys are answered with 429, and submissions from web pages "
        "wait."
    ),
}
ADVICE = gettext_lazy(
    "If this happens often, send fewer requests, or ask for a higher limit. This mail comes at most once a day."
)


def report_marks(usage: Usage, marks: Sequence[int]) -> None:
    """Record that an organization's hour has reached these marks, and mail the owners once a day for each."""
    organization = Organization.objects.get(pk=str(usage.organization))
    moment = now()
    reached = [HourMark(organization=organization, percent=mark, reached_at=moment) for mark in marks]
    with transaction.atomic():
        HourMark.objects.bulk_create(
            reached,
            update_conflicts=True,
            unique_fields=["organization", "percent"],
            update_fields=["reached_at"],
        )
        for mark in marks:
            values = {
                "time": f"{moment:%H:%M}",
                "organization": organization.name,
                "mark": mark,
                "limit": f"{usage.limit:,}",
                "end": f"{dt.datetime.fromtimestamp(usage.reset, dt.UTC):%H:%M}",
                "page": f"{settings.PUBLIC_URL}/dashboard/o/{organization.slug}/plan",
            }
            once = f"hour.{mark} {organization.pk} {moment.date()}"
            text = format_lazy("{}\n\n{}\n\n{}\n\n%(page)s", USED, CONSEQUENCES[mark], ADVICE)
            notify_owners(organization, f"hour.{mark}", subject=SUBJECT, text=text, values=values, once=once)


def latest_mark(organization: Organization) -> HourMark | None:
    """Return the highest mark that was reached in the last 24 hours."""
    return organization.hour_marks.filter(reached_at__gt=now() - SHOWN).order_by("-percent").first()
