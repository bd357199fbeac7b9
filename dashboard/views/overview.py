"""The first page of an organization: submissions, deliveries, usage, and the first steps of a new one."""

import datetime as dt
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from config.api import ratelimit
from config.times import Period
from dashboard.access import MemberRequest, in_organization
from dashboard.first_steps import first_steps
from keys.access_keys import exposed_keys
from keys.hour_notices import latest_mark
from keys.invitations import invitations_to
from keys.models import Organization
from keys.plans import show_bytes
from submissions.models import Submission
from submissions.reading.analytics import DEFAULT_RANGE, summarize
from submissions.storage import MARKS
from webhooks.log_queries import delivery_health

LATEST = 6


@in_organization()
@require_safe
def overview(request: MemberRequest) -> HttpResponse:
    """Show the last 30 days, the health of deliveries, this hour's requests, and unfinished first steps."""
    organization = request.member.organization
    today = dt.datetime.now(dt.UTC).date()
    start, end = Period.of_day(today - DEFAULT_RANGE).start, Period.of_day(today).end
    counts = summarize(organization.pk, None, start=start, end=end, interval="day")
    latest = Submission.objects.filter(organization=organization, spam=False).defer("search_text", "controls")
    context = {
        "totals": counts["totals"],
        "days": [_day(point) for point in counts["series"]],
        "spam_share": share(counts["totals"]["spam"], counts["totals"]["received"]),
        "health": delivery_health(organization),
        "usage": ratelimit.peek_organization(organization.pk, organization.hourly_limit),
        "mark": latest_mark(organization),
        "invitations": invitations_to(request.member.user),
        "exposed_keys": exposed_keys(organization) if request.member.may_manage else [],
        "latest": list(latest.select_related("form").order_by("-id")[:LATEST]),
        "steps": first_steps(organization),
        "storage": storage_of(organization),
    }
    context["usage_share"] = share(context["usage"].used, context["usage"].limit)
    context["chart"] = chart_columns(context["days"])
    return render(request, "dashboard/overview.html", context)


def storage_of(organization: Organization) -> dict[str, Any]:
    """Return `{stored, allowance, share, is_tight, is_full}`: texts such as `3.5 MiB`, and the percentage used."""
    stored, allowance = organization.stored_bytes or 0, organization.storage_allowance
    return {
        "stored": show_bytes(stored),
        "allowance": show_bytes(allowance),
        "share": share(stored, allowance),
        "is_tight": stored >= allowance * MARKS[0] / 100,
        "is_full": organization.is_full,
    }


def _day(point: dict[str, Any]) -> dict[str, Any]:
    return {**point, "day": dt.datetime.fromisoformat(point["start"]).date()}


def share(part: int, whole: int) -> int:
    """Return a rounded percentage; a part above 0 is at least 1."""
    return max(1, round(100 * part / whole)) if part and whole else 0


def chart_columns(days: list[dict[str, Any]]) -> list[list[int]]:
    """Return uPlot's columns: Unix seconds, received, spam."""
    starts = [int(dt.datetime.combine(day["day"], dt.time(), dt.UTC).timestamp()) for day in days]
    return [starts, [day["received"] for day in days], [day["spam"] for day in days]]


urlpatterns = [path("", overview, name="overview")]
