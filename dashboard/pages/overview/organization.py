"""The first page of an organization: submissions, deliveries, usage, what needs attention, and first steps."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from config.api import ratelimit
from dashboard.access import MemberRequest, in_organization
from dashboard.html_forms.filters import FormFilterForm
from dashboard.pages.overview.activity import activity_of, share
from dashboard.pages.overview.first_steps import are_hidden, first_steps, hide
from keys.access_keys import exposed_keys
from keys.hour_notices import latest_mark
from keys.invitations import invitations_to
from keys.models import Organization
from keys.plans import show_bytes
from submissions.counts.stored_bytes import MARKS
from submissions.models import Submission
from webhooks.log_queries import delivery_health
from webhooks.models import Receiver
from webhooks.receivers.actions import held_for, needing_attention

LATEST = 6


@in_organization()
@require_safe
def overview(request: MemberRequest) -> HttpResponse:
    """Show figures and a chart, and what needs attention; to htmx only the chart, of another range or form."""
    organization = request.member.organization
    filters = FormFilterForm(request.GET, organization=organization)
    activity = activity_of(organization, filters.chosen("form"), days=request.GET.get("days", ""))
    context: dict[str, Any] = {"activity": activity, "filters": filters}
    if request.htmx:
        return render(request, "dashboard/parts/activity.html", context)
    latest = (
        Submission.objects.filter(organization=organization, spam=False).confirmed().defer("search_text", "controls")
    )
    context |= {
        "whole": activity if activity.form is None else activity_of(organization, None, days=""),
        "health": delivery_health(organization),
        "usage": ratelimit.peek_organization(organization.pk, organization.hourly_limit),
        "mark": latest_mark(organization),
        "invitations": invitations_to(request.member.user),
        "exposed_keys": exposed_keys(organization) if request.member.may_manage else [],
        "latest": list(latest.select_related("form").order_by("-id")[:LATEST]),
        "steps": first_steps(organization),
        "are_steps_hidden": are_hidden(request),
        "storage": storage_of(organization),
        "waiting": _waiting(request) if request.member.may_manage else [],
    }
    context["usage_share"] = share(context["usage"].used, context["usage"].limit)
    return render(request, "dashboard/overview.html", context)


@in_organization()
@require_POST
def show_first_steps(request: MemberRequest) -> HttpResponse:
    slug = request.member.organization.slug
    response = redirect("dashboard:overview", slug)
    hide(response, slug, hidden=request.POST.get("do") == "hide")
    return response


def _waiting(request: MemberRequest) -> list[tuple[Receiver, int]]:
    """Return the destinations that need attention, each with the number of held deliveries."""
    found = list(needing_attention(request.member.organization).order_by("pk"))
    held = held_for(found)
    return [(each, held.get(each.pk, 0)) for each in found]


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


urlpatterns = [
    path("", overview, name="overview"),
    path("first-steps", show_first_steps, name="first-steps"),
]
