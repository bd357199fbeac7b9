"""The first screen: an organization's forms and what arrived last. The rest of the dashboard builds on it."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from forms_app.models import Form
from keys.models import AccessKey, Organization, User
from submissions.models import Submission

LATEST = 20


@login_required
def overview(request: HttpRequest) -> HttpResponse:
    """Show the person's first organization."""
    user: User = request.user  # type: ignore[assignment]  # login_required: not anonymous
    organization = Organization.objects.filter(memberships__user=user).order_by("created_at").first()
    context: dict[str, Any] = {"organization": organization, "forms": [], "submissions": []}
    if organization:
        publishable = AccessKey.objects.usable().filter(organization=organization, kind=AccessKey.Kind.PUBLISHABLE)
        context["publishable_keys"] = list(publishable.order_by("id"))
        context["hourly_limit"] = f"{organization.hourly_limit:,}"
        forms = Form.objects.filter(organization=organization).exclude(status=Form.Status.ARCHIVED)
        context["forms"] = list(forms.with_submission_count().order_by("-is_default", "name"))
        latest = Submission.objects.filter(organization=organization, spam=False).select_related("form")
        context["submissions"] = list(latest.order_by("-id")[:LATEST])
    return render(request, "dashboard/overview.html", context)
