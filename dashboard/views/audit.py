"""The audit trail: changes of keys, members and the plan, exports and erased forms, with their users."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from dashboard.access import MemberRequest, in_organization
from keys.models import AuditEvent, Role

PAGE_SIZE = 50
WORDS = {
    "organization.created": "created the organization",
    "organization.renamed": "renamed the organization",
    "plan.changed": "changed the plan to",
    "key.created": "generated the key",
    "key.regenerated": "regenerated the key",
    "key.revoked": "revoked the key",
    "member.invited": "invited",
    "member.added": "added",
    "member.joined": "joined",
    "member.role_changed": "changed a role:",
    "member.removed": "removed the member",
    "member.left": "left",
    "invitation.revoked": "took back the invitation of",
    "submissions.exported": "exported submissions as",
    "form.erased": "erased the form",
}


@in_organization(Role.ADMIN)
@require_safe
def audit(request: MemberRequest) -> HttpResponse:
    """Show one page of the trail, newest first."""
    rows = AuditEvent.objects.filter(organization=request.member.organization)
    rows = rows.select_related("user", "access_key").order_by("-created_at", "-pk")
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "dashboard/audit.html", {"events": [_described(event) for event in page], "trail": page})


def _described(event: AuditEvent) -> dict[str, Any]:
    """Return the user, the action and the time. The trail keeps the names of deleted users and keys."""
    who = event.user.email if event.user else event.actor
    subject = event.subject.removeprefix(who) if who else event.subject  # "ada joined as member", not "ada joined ada"
    return {
        "who": who,
        "is_key": event.access_key is not None,
        "words": WORDS.get(event.action, event.action),
        "subject": subject.strip(),
        "moment": event.created_at,
    }


urlpatterns = [path("audit", audit, name="audit")]
