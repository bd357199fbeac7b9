"""One submission: a page, or the panel next to its list. Opening it marks it as read, but for viewers."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from config.base.ids import Prefix
from dashboard.access import MemberRequest, find_own, in_organization
from dashboard.delivery_story import is_settled, tell_story
from dashboard.html_forms.submissions import SubmissionsFilterForm
from dashboard.pages.submissions.files import shown_files
from dashboard.pages.submissions.values import reply_address, values_of
from submissions.lifecycle.spam_marks import mark_read
from submissions.models import Consent, Submission

PREFETCHES = ("Sec-Purpose", "Purpose", "X-Moz")  # headers of browsers that load a page before it is opened


@in_organization(of_forms=True)
@require_safe
def submission(request: MemberRequest, submission_id: str) -> HttpResponse:
    found = _find(request, submission_id)
    if found.is_test != request.member.forms.test:
        return render(request, "dashboard/submission_other_mode.html", {"submission": found}, status=404)
    filters = SubmissionsFilterForm(request.GET, seen=request.member.forms)
    context = {**shown(request, found), "kept": filters.kept(), "query": filters.query()}
    if request.GET.get("part") == "panel":
        return render(request, "dashboard/parts/submission_panel.html", context)
    return render(request, "dashboard/submission.html", context | _neighbours(found))


def find_opened(request: MemberRequest, submission_id: str) -> Submission | None:
    """Return the submission that a list shows next to it; None without one, or for one that is not there."""
    try:
        found = _find(request, submission_id) if submission_id else None
    except Http404:
        return None
    return found if found and found.is_test == request.member.forms.test else None


def shown(request: MemberRequest, found: Submission) -> dict[str, Any]:
    """Mark a submission as read, unless by a viewer, and return what page and panel show."""
    member = request.member
    if is_opened(request) and not found.is_read and member.may_edit and not member.organization.is_suspended:
        mark_read([found.pk], organization_id=found.organization_id)
    story = tell_story(found)
    return {
        "submission": found,
        "values": values_of(found),
        "files": shown_files(found),
        "consent": Consent.objects.filter(submission=found.pk).first(),
        "reply": reply_address(found),
        "moments": story,
        "settled": is_settled(found, story),
    }


def is_opened(request: HttpRequest) -> bool:
    """
    Return whether a user looks at the answer.

    A GET that changes something is safe only for a navigation that a user started: a browser that loads links ahead, a
    link checker's HEAD, or a picture of another site with this address must not hide a submission as read.
    """
    if request.method != "GET" or any("prefetch" in request.headers.get(name, "") for name in PREFETCHES):
        return False
    return request.headers.get("Sec-Fetch-Dest", "document") in ("document", "empty")


def _neighbours(found: Submission) -> dict[str, Submission | None]:
    """Return the next newer and the next older submission of the same form and tab."""
    rows = Submission.objects.shown(found.organization_id)
    same = rows.only("id").filter(form=found.form_id, spam=found.spam)
    waiting = same.of_mode(test=found.is_test).filter(held=Submission.Held.CONFIRMATION)
    same = waiting if found.awaits_confirmation else same.listed(test=found.is_test)
    newer, older = same.filter(id__gt=found.pk).order_by("id"), same.filter(id__lt=found.pk).order_by("-id")
    return {"newer": newer.first(), "older": older.first()}


def _find(request: MemberRequest, submission_id: str) -> Submission:
    shown = Submission.objects.shown(request.member.organization.pk)
    rows = request.member.forms.narrow(shown.select_related("form"))
    return find_own(rows, Prefix.SUBMISSION, submission_id)


urlpatterns = [path("submissions/<str:submission_id>", submission, name="submission")]
