"""The plan of an organization and its usage."""

import datetime as dt
from email.utils import parseaddr
from urllib.parse import quote

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from config.api import ratelimit
from dashboard.access import MemberRequest, in_organization
from dashboard.installation import sells_plans
from dashboard.pages.overview.activity import share
from dashboard.pages.overview.organization import storage_of
from keys.models import AccessKey
from keys.plans import MAIL_FACTORS, TERMS, Plan, show_bytes
from webhooks.receivers.registration import MAX_WEBHOOKS


@in_organization()
@require_safe
def plan(request: MemberRequest) -> HttpResponse:
    """Show what is used, the current plan, and the others where they are offered."""
    organization = request.member.organization
    usage = ratelimit.peek_organization(organization.pk, organization.hourly_limit)
    context = {
        "plans": [
            {
                "label": one.label,
                "terms": TERMS[one],
                "mails": settings.MAILS_PER_ORGANIZATION * MAIL_FACTORS[one],
                "storage": show_bytes(TERMS[one].stored_bytes),
                "is_own": one == organization.plan,
                "is_free": one == Plan.FREE,
                "is_smaller": list(Plan).index(one) < list(Plan).index(Plan(organization.plan)),
                "ask": _mail_to_operator(f"{organization.name}: {one.label} plan"),
                "is_custom": one == Plan.ENTERPRISE,
            }
            for one in Plan
            if one == organization.plan or sells_plans()
        ],
        "usage": usage,
        "resets_at": dt.datetime.fromtimestamp(usage.reset, dt.UTC),
        "most_webhooks": MAX_WEBHOOKS,
        "usage_share": share(usage.used, usage.limit),
        "storage": storage_of(organization),
        "working_keys": AccessKey.objects.usable().filter(organization=organization).count(),
        "operator": settings.DEFAULT_FROM_EMAIL,
        "may_change": request.member.user.has_perm("keys.change_organization"),
    }
    return render(request, "dashboard/plan.html", context)


def _mail_to_operator(subject: str) -> str:
    return f"mailto:{quote(parseaddr(settings.DEFAULT_FROM_EMAIL)[1])}?subject={quote(subject)}"


urlpatterns = [path("plan", plan, name="plan")]
