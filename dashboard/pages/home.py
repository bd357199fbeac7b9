"""The start page of the dashboard: the last visited organization, or the creation of the first one."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path

from config.base.ids import Prefix
from dashboard.access import SESSION_KEY, find_own, person
from keys.invitations import invitations_to
from keys.models import Organization
from keys.seen_forms import SeenForms
from submissions.models import Submission


@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the overview of an organization; without one, to the user's invitations or to a new one."""
    user = person(request)
    own = Organization.objects.filter(memberships__user=user).order_by("memberships__created_at")
    last = own.filter(slug=request.session.get(SESSION_KEY, "")).first() or own.first()
    if last:
        return redirect("dashboard:overview", last.slug)
    return redirect("dashboard:invitations" if invitations_to(user).exists() else "dashboard:organization-new")


@login_required
def find_submission(request: HttpRequest, submission_id: str) -> HttpResponse:
    """Redirect to a submission in its organization. Mails link here: their links hold no organization."""
    user = person(request)
    rows = Submission.objects.select_related("form__organization")
    found = find_own(rows, Prefix.SUBMISSION, submission_id, form__organization__memberships__user=user)
    if not SeenForms.of(user.memberships.get(organization=found.organization_id)).includes(found.form_id):
        raise Http404
    return redirect("dashboard:submission", found.form.organization.slug, found.public_id)


urlpatterns = [
    path("", home, name="home"),
    path("submissions/<str:submission_id>", find_submission, name="find-submission"),
]
