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


@in_organization(of_forms=True)
@require_safe
def overview(request: MemberRequest) -> HttpResponse:
    """Show figures and a chart, and what needs attention; to htmx only the chart, of another range or form."""
    member, organization = request.member, request.member.organization
    filters = FormFilterForm(request.GET, seen=member.forms)
    activity = activity_of(member.forms, filters.chosen("form"), days=request.GET.get("days", ""))
    context: dict[str, Any] = {"activity": activity, "filters": filters}
    if request.htmx:
        return render(request, "dashboard/parts/activity.html", context)
    latest = Submission.objects.shown(organization.pk).filter(spam=False).listed().defer("search_text", "controls")
    context |= {
        "whole": activity if activity.form is None else activity_of(member.forms, None, days=""),
        "health": delivery_health(member.forms),
        "invitations": invitations_to(member.user),
        "exposed_keys": exposed_keys(organization) if member.may_manage else [],
        "latest": list(member.forms.narrow(latest).select_related("form").order_by("-id")[:LATEST]),
        "waiting": _waiting(request) if member.may_manage else [],
    }
    if member.may_make_forms:
        context |= {"steps": first_steps(organization), "are_steps_hidden": are_hidden(request)}
    if not member.is_limited:
        context |= _of_organization(organization)
        context["needs_attention"] = _needs_attention(organization, context)
    return render(request, "dashboard/overview.html", context)


def _needs_attention(organization: Organization, shown: dict[str, Any]) -> bool:
    found = (shown["mark"], shown["exposed_keys"], shown["waiting"], organization.held_posts)
    return any(found) or shown["storage"]["is_tight"]


def _of_organization(organization: Organization) -> dict[str, Any]:
    """Return the requests of the hour and the storage, which no form has for itself."""
    usage = ratelimit.peek_organization(organization.pk, organization.hourly_limit)
    return {
        "usage": usage,
        "usage_share": share(usage.used, usage.limit),
        "mark": latest_mark(organization),
        "storage": storage_of(organization),
    }


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
