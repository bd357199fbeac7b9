"""The delivery log of all channels, the retry of one delivery, and the activity of a submission as a fragment."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Sequence
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import path, reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from config.base.ids import Prefix
from config.base.paging import NumberedPage, page_number
from config.base.times import now
from dashboard.access import MemberRequest, find_own, in_organization, reporting
from dashboard.delivery_story import is_settled, tell_story
from dashboard.html_forms.deliveries import DeliveriesFilterForm
from keys.models import Role
from submissions.models import Submission
from webhooks.log_queries import MAILS_OF_NEWEST, load_answers, newest_attempts
from webhooks.models import Delivery
from webhooks.replays import retry_delivery

PAGE_SIZE = 25
FARTHEST_PAGE = 400  # of a log; what lies beyond is found by its submission, or by a narrower filter
SOON, LATER = dt.timedelta(seconds=10), dt.timedelta(hours=1)  # an attempt within this time is waited for
QUICK, SLOW = 2, 20  # seconds between two polls
FILTERS = ("form", "status", "channel")


@dataclasses.dataclass(frozen=True, slots=True)
class LogPage(NumberedPage):
    """Deliveries, newest first, without a total: counting millions takes time."""

    rows: list[Delivery]
    number: int
    has_more: bool

    @property
    def last_number(self) -> int:
        """The next page if there is one to show, else this one."""
        return self.number + (self.has_more and self.number < FARTHEST_PAGE)

    @property
    def is_cut(self) -> bool:
        """Whether there are older rows beyond the last page shown."""
        return self.has_more and self.number >= FARTHEST_PAGE

    @property
    def refreshed_after(self) -> int:
        """Seconds until the page fetches its rows again: 2 while one changes soon, 0 if none waits."""
        moment = now()
        times = [time for row in self.rows if (time := row.expected_at) is not None and time < moment + LATER]
        if not times:
            return 0
        return QUICK if min(times) < moment + SOON else SLOW


def page_of(parts: Sequence[QuerySet[Delivery]], page: str) -> LogPage:
    """Return a page of a log, merged from these parts, with their newest attempts; page 1 if `page` is not a number."""
    number = page_number(page, farthest=FARTHEST_PAGE)
    ids = _newest_ids(parts, (number - 1) * PAGE_SIZE, PAGE_SIZE + 1)
    rows = Delivery.objects.present().filter(pk__in=ids[:PAGE_SIZE]).select_related("receiver", "submission__form")
    rows = rows.defer("submission__search_text", "submission__data").prefetch_related(newest_attempts())
    shown = list(rows.order_by("-id"))
    load_answers(shown)
    return LogPage(shown, number, len(ids) > PAGE_SIZE)


def _newest_ids(parts: Sequence[QuerySet[Delivery]], start: int, count: int) -> list[uuid.UUID]:
    """Return `count` ids from offset `start`, newest first; each part is read from its own index."""
    ids: set[uuid.UUID] = set()
    for part in parts:
        ids.update(part.order_by("-id").values_list("id", flat=True)[: start + count])
    return sorted(ids, reverse=True)[start : start + count]


def query_of(request: MemberRequest, *names: str) -> str:
    return urlencode({name: request.GET[name] for name in names if request.GET.get(name)})


@in_organization(of_forms=True)
@require_safe
def deliveries(request: MemberRequest) -> HttpResponse:
    organization = request.member.organization
    filters = DeliveriesFilterForm(request.GET, seen=request.member.forms)
    every = Delivery.objects.filter(organization=organization)
    log = filters.parts(every.of_mode(organization.pk, test=request.member.forms.test))
    context = {
        "filters": filters,
        "page": page_of(log, request.GET.get("page", "")),
        "query": query_of(request, *FILTERS),
        "here": query_of(request, *FILTERS, "page"),
        "log_url": reverse("dashboard:deliveries", args=[organization.slug]),
        "mails_of_newest": MAILS_OF_NEWEST if filters.chosen("form") or request.member.is_limited else 0,
    }
    piece = request.headers.get("HX-Request")
    return render(request, "dashboard/parts/log_rows.html" if piece else "dashboard/deliveries.html", context)


@in_organization(Role.ADMIN)
@require_POST
def retry(request: MemberRequest, delivery_id: str) -> HttpResponse:
    """Send one delivery again, now, and return to the page of the button."""
    rows = Delivery.objects.present().select_related("receiver", "submission")
    found = find_own(rows, Prefix.DELIVERY, delivery_id, organization=request.member.organization)
    with reporting(request, gettext("It is being sent again.")):
        retry_delivery(found)
    return redirect(_back(request, found))


def _back(request: MemberRequest, found: Delivery) -> str:
    """Return the page of the button: built here, never taken from the request."""
    slug = request.member.organization.slug
    if request.POST.get("submission") and found.submission is not None:
        return resolve_url("dashboard:submission", slug, found.submission.public_id)
    if request.POST.get("receiver") and found.receiver is not None:
        log = resolve_url("dashboard:destination", slug, found.receiver.public_id)
    else:
        log = resolve_url("dashboard:deliveries", slug)
    query = query_of(request, *FILTERS, "page")
    return f"{log}?{query}" if query else log


@in_organization(of_forms=True)
@require_safe
def story(request: MemberRequest, submission_id: str) -> HttpResponse:
    """Show the activity of a submission, as the fragment of its page that is fetched until nothing is pending."""
    rows = request.member.forms.narrow(Submission.objects.all())
    found = find_own(rows, Prefix.SUBMISSION, submission_id)
    moments = tell_story(found)
    context = {"submission": found, "moments": moments, "settled": is_settled(found, moments)}
    return render(request, "dashboard/parts/timeline.html", context)


urlpatterns = [
    path("deliveries", deliveries, name="deliveries"),
    path("deliveries/<str:delivery_id>/retry", retry, name="delivery-retry"),
    path("submissions/<str:submission_id>/story", story, name="submission-story"),
]
