"""The overview of a form: figures, its chart, the code for a page, and a test submission with its activity."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import ApiError
from config.base.ids import Prefix, encode_id
from dashboard.access import MemberRequest, find_form, find_own, in_organization
from dashboard.delivery_story import is_settled, tell_story
from dashboard.frame.limits.costs import expensive
from dashboard.pages.overview.activity import activity_of
from dashboard.pages.overview.connect import connection_of
from forms_app.consent.recipients import mailable
from forms_app.models import Form
from submissions.lifecycle.spam_marks import delete_many
from submissions.models import Submission
from submissions.receiving.from_member import send_test
from webhooks.models import Receiver

# The parts of the page that htmx fetches by themselves, by the element that they replace.
PARTS = {"activity": "dashboard/parts/activity.html", "connect": "dashboard/parts/connect.html"}


@in_organization(of_forms=True)
@require_safe
def form(request: MemberRequest, form_id: str) -> HttpResponse:
    """Show a form, or the part of its page that htmx asks for. `?test=` names a test submission to show."""
    organization, found = request.member.organization, find_form(request, form_id)
    context: dict[str, Any] = {"form": found}
    part = PARTS.get(request.htmx.target or "") if request.htmx else None
    if part != PARTS["connect"]:
        context["activity"] = activity_of(request.member.forms, found, days=request.GET.get("days", ""))
    if part != PARTS["activity"]:
        way, key = request.GET.get("snippet", ""), request.GET.get("key", "")
        context["connection"] = connection_of(organization, found, way=way, key=key)
    if part:
        return render(request, part, context)
    newest = Submission.objects.shown(organization.pk).filter(form=found, spam=False).listed()
    newest = newest.only("id", "created_at").order_by("-id")
    context |= {"last": newest.first(), **_targets(found), **_test(request, found, request.GET.get("test", ""))}
    context["has_history"] = found.status != Form.Status.DRAFT or bool(context["activity"].has_any or context["last"])
    return render(request, "dashboard/form.html", context)


def _targets(form: Form) -> dict[str, int]:
    """Return how many get a submission of now; `unmailed`: addresses that have not confirmed, or have stopped mails."""
    active = Receiver.objects.serving(form).filter(status=Receiver.Status.ACTIVE)
    mails = len(mailable([form]).get(form.pk, []))
    return {
        "destinations": active.count(),
        "mails": mails,
        "unmailed": len(form.notification_recipients) - mails,
    }


def _test(request: MemberRequest, form: Form, submission_id: str) -> dict[str, Any]:
    """Return the activity of a test submission to this form; nothing for any other id."""
    try:
        found = _find_test(request, form, submission_id)
    except Http404:
        return {}
    story = tell_story(found)
    return {"submission": found, "moments": story, "settled": is_settled(found, story)}


def _find_test(request: MemberRequest, form: Form, submission_id: str) -> Submission:
    rows = request.member.forms.narrow(Submission.objects.select_related("form").filter(form=form))
    found = find_own(rows, Prefix.SUBMISSION, submission_id)
    if not found.is_trial:
        raise Http404
    return found


@in_organization(of_forms=True)
@require_POST
@expensive()
def test(request: MemberRequest, form_id: str) -> HttpResponse:
    found = find_form(request, form_id)
    problem, submission_id = "", ""
    try:
        submission_id = encode_id(
            Prefix.SUBMISSION, send_test(found, request, live=request.POST.get("mode") == "live").id
        )
    except ApiError as error:
        problem = error.message
    if request.htmx:
        shown = _test(request, found, submission_id)
        context = {"form": found, "problem": problem, **_targets(found), **shown}
        return render(request, "dashboard/parts/form_test.html", context)
    address = resolve_url("dashboard:form", request.member.organization.slug, found.public_id)
    if problem:
        messages.error(request, problem)
        return redirect(address)
    return redirect(f"{address}?test={submission_id}#test")


@in_organization(of_forms=True)
@require_POST
def delete_test(request: MemberRequest, form_id: str, submission_id: str) -> HttpResponse:
    """Delete a test submission without asking: nothing of a visitor's is lost."""
    found = find_form(request, form_id)
    submission = _find_test(request, found, submission_id)
    delete_many([submission.pk], organization_id=request.member.organization.pk)
    messages.success(request, gettext("The test submission is deleted."))
    return redirect("dashboard:form", request.member.organization.slug, found.public_id)


urlpatterns = [
    path("forms/<str:form_id>", form, name="form"),
    path("forms/<str:form_id>/tests", test, name="form-test"),
    path("forms/<str:form_id>/tests/<str:submission_id>/delete", delete_test, name="form-test-delete"),
]
