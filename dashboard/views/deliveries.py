"""The log of deliveries, webhooks and mails together; sending one again; the story of a submission as a piece."""

import dataclasses
import datetime as dt
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from config.api.ids import Prefix
from config.api.times import now
from dashboard.access import PlacedRequest, Role, find_own, in_organization, telling
from dashboard.inputs.webhooks import LogFilterForm
from submissions.models import Submission
from webhooks.models import Delivery
from webhooks.replays import retry_delivery
from webhooks.story import is_settled, tell_story

PAGE_SIZE = 25
SOON = dt.timedelta(seconds=10)
FARTHEST_PAGE = 400  # of a log; what lies beyond is found by its submission, or by a narrower filter


@dataclasses.dataclass(frozen=True, slots=True)
class LogPage:
    """Deliveries, newest first, without a total: nobody needs one, and counting millions takes time."""

    rows: list[Delivery]
    number: int
    has_next: bool

    @property
    def is_moving(self) -> bool:
        """Tell whether something on it will change within moments: then the page asks again."""
        soon = now() + SOON
        return any(row.next_attempt_at is not None and row.next_attempt_at < soon for row in self.rows)

    @property
    def has_previous(self) -> bool:
        """Tell whether there is a newer page."""
        return self.number > 1

    @property
    def previous(self) -> int:
        """The newer page."""
        return self.number - 1

    @property
    def next(self) -> int:
        """The older page."""
        return self.number + 1


def page_of(rows: QuerySet[Delivery], page: str) -> LogPage:
    """Return a page of a log with every attempt; page 1 for what is no number."""
    number = min(max(1, int(page)), FARTHEST_PAGE) if page.isascii() and page.isdecimal() and len(page) < 9 else 1
    start = (number - 1) * PAGE_SIZE
    found = rows.select_related("webhook", "submission__form").defer("body", "submission__search_text")
    found = found.prefetch_related("attempts").order_by("-id")
    taken = list(found[start : start + PAGE_SIZE + 1])
    return LogPage(taken[:PAGE_SIZE], number, len(taken) > PAGE_SIZE and number < FARTHEST_PAGE)


def query_of(request: PlacedRequest, *names: str) -> str:
    """Return the address's query but for the page."""
    return urlencode({name: request.GET[name] for name in names if request.GET.get(name)})


@in_organization()
@require_safe
def deliveries(request: PlacedRequest) -> HttpResponse:
    """Show every delivery of the organization, newest first."""
    filters = LogFilterForm(request.GET)
    log = filters.narrow(Delivery.objects.filter(organization=request.place.organization))
    context = {
        "filters": filters,
        "page": page_of(log, request.GET.get("page", "")),
        "query": query_of(request, "status"),
    }
    return render(request, "dashboard/deliveries.html", context)


@in_organization(Role.ADMIN)
@require_POST
def retry(request: PlacedRequest, delivery_id: str) -> HttpResponse:
    """Send one delivery again, now, and go back to where it was asked for."""
    rows = Delivery.objects.select_related("webhook", "submission")
    found = find_own(rows, Prefix.DELIVERY, delivery_id, organization=request.place.organization)
    with telling(request, "It is being sent again."):
        retry_delivery(found)
    slug = request.place.organization.slug
    if request.POST.get("submission") and found.submission is not None:
        return redirect("dashboard:submission", slug, found.submission.public_id)
    if request.POST.get("webhook") and found.webhook is not None:
        return redirect("dashboard:webhook", slug, found.webhook.public_id)
    return redirect("dashboard:deliveries", slug)


@in_organization()
@require_safe
def story(request: PlacedRequest, submission_id: str) -> HttpResponse:
    """Show what came of a submission, as the piece of its page that is fetched again until nothing is pending."""
    rows = Submission.objects.all()
    found = find_own(rows, Prefix.SUBMISSION, submission_id, organization=request.place.organization)
    moments = tell_story(found)
    context = {"submission": found, "moments": moments, "settled": is_settled(found, moments)}
    return render(request, "dashboard/parts/timeline.html", context)


urlpatterns = [
    path("deliveries", deliveries, name="deliveries"),
    path("deliveries/<str:delivery_id>/retry", retry, name="delivery-retry"),
    path("submissions/<str:submission_id>/story", story, name="submission-story"),
]
