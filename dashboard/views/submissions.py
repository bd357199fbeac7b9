"""Submissions: the list, one submission, bulk actions, and the token of the live list."""

import datetime as dt
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import ApiError, RateLimited
from config.ids import Prefix, encode_id, first_id_of
from config.paging import page_number
from config.times import now
from dashboard.access import MemberRequest, busy, find_own, in_organization
from dashboard.delivery_story import is_settled, tell_story
from dashboard.html_forms.submissions import NAMES, TABS, SubmissionsFilterForm, parse_ids
from dashboard.submission_table import Table
from dashboard.views.exports import export_chosen
from forms_app.formats import is_web_address
from submissions.lifecycle.held import release_many
from submissions.lifecycle.spam_marks import delete_many, mark_many
from submissions.live.tokens import live_token
from submissions.models import Submission
from submissions.reading.listing import find_page
from submissions.reading.shares import searching

PAGE_SIZE = 25
SEEN_BEFORE = dt.timedelta(seconds=5)  # a row with an older id is committed when the list is read
MAX_SELECTED = 100  # rows of one bulk action; a page shows fewer
FARTHEST_PAGE = 10**9


@in_organization()
@require_safe
def submissions(request: MemberRequest) -> HttpResponse:
    """Show one page of the list."""
    organization = request.member.organization
    filters = SubmissionsFilterForm(request.GET, organization=organization)
    narrowing = filters.narrowing()
    number = page_number(request.GET.get("page", ""), farthest=FARTHEST_PAGE)
    scope = narrowing.scope(organization)
    try:
        with searching(organization.pk, scope.text):
            page = find_page(scope, number=number, size=PAGE_SIZE)
    except RateLimited as refusal:
        return busy(request, refusal)
    context = {
        "filters": filters,
        "narrowing": narrowing,
        "tabs": [(label, filters.query(spam=value), value == request.GET.get("spam", "")) for value, label in TABS],
        "page": page,
        "query": filters.query(),
        "kept": [(name, request.GET[name]) for name in NAMES if request.GET.get(name)],
        "table": Table.of(page.rows, narrowing.form),
        "live": narrowing.is_plain and page.number == 1,
        "seen": _seen(page.rows),
        "is_narrowed": bool(filters.query(form="", spam="")),
    }
    return render(request, "dashboard/submissions.html", context)


def _seen(rows: list[Submission]) -> str:
    """Return the id after which the live stream continues: older rows are in the list, or on an older page."""
    recent = first_id_of(now() - SEEN_BEFORE)
    return encode_id(Prefix.SUBMISSION, max([recent, *(row.pk for row in rows[:1])]))


@in_organization()
@require_safe
def submission(request: MemberRequest, submission_id: str) -> HttpResponse:
    """Show one submission and its deliveries."""
    found = _find(request, submission_id)
    story = tell_story(found)
    context = {"submission": found, "values": _values(found), "moments": story, "settled": is_settled(found, story)}
    return render(request, "dashboard/submission.html", context | _neighbours(found))


def _values(found: Submission) -> list[dict[str, Any]]:
    labels = {field["name"]: field["label"] for field in found.form.fields}
    return [
        {"name": name, "label": labels.get(name, name), "text": text, "link": is_web_address(text)}
        for name, text in found.data.items()
    ]


def _neighbours(found: Submission) -> dict[str, Submission | None]:
    """Return the next newer and the next older submission of the same form and tab."""
    same = Submission.objects.only("id").filter(form=found.form_id, spam=found.spam)
    newer, older = same.filter(id__gt=found.pk).order_by("id"), same.filter(id__lt=found.pk).order_by("-id")
    return {"newer": newer.first(), "older": older.first()}


def _find(request: MemberRequest, submission_id: str) -> Submission:
    rows = Submission.objects.select_related("form")
    return find_own(rows, Prefix.SUBMISSION, submission_id, organization=request.member.organization)


@in_organization()
@require_POST
def act_on_chosen(request: MemberRequest) -> HttpResponseBase:
    """Apply one action to the selected rows: mark, delete (after a confirmation), export."""
    try:
        ids = parse_ids(request.POST.getlist("id"), most=MAX_SELECTED)
    except ApiError:
        ids = []
    back = _back(request)
    act = ACTS.get(request.POST.get("do", ""))
    if act is None or not ids:
        messages.warning(request, "Select submissions first, then choose an action.")
        return redirect(back)
    return act(request, ids, back)


def _back(request: MemberRequest) -> str:
    """Return the address of the list. Its query is parsed and rebuilt, so that it cannot lead to another site."""
    organization = request.member.organization
    filters = SubmissionsFilterForm(request.POST, organization=organization)
    query = filters.query()
    return f"{reverse('dashboard:submissions', args=[organization.slug])}{'?' if query else ''}{query}"


def _mark_spam(request: MemberRequest, ids: list[Any], back: str) -> HttpResponse:
    count = mark_many(ids, organization_id=request.member.organization.pk, spam=True)
    messages.success(request, f"{_counted(count)} marked as spam. No notifications are sent.")
    return redirect(back)


def _mark_not_spam(request: MemberRequest, ids: list[Any], back: str) -> HttpResponse:
    count = mark_many(ids, organization_id=request.member.organization.pk, spam=False)
    messages.success(request, f"{_counted(count)} marked as not spam and delivered like new ones.")
    return redirect(back)


def _release(request: MemberRequest, ids: list[Any], back: str) -> HttpResponse:
    count = release_many(ids, organization_id=request.member.organization.pk)
    if count:
        messages.success(request, f"{_counted(count)} released and delivered like new ones.")
    else:
        messages.warning(request, "None of these submissions is held.")
    return redirect(back)


def _ask_to_delete(request: MemberRequest, ids: list[Any], back: str) -> HttpResponse:
    rows = Submission.objects.filter(organization=request.member.organization, pk__in=ids).select_related("form")
    context = {"table": Table.of(list(rows.order_by("-id")), None), "back": back, "kept": _kept(request)}
    return render(request, "dashboard/submissions_delete.html", context)


def _kept(request: MemberRequest) -> list[tuple[str, str]]:
    return [(name, request.POST[name]) for name in NAMES if request.POST.get(name)]


def _delete(request: MemberRequest, ids: list[Any], back: str) -> HttpResponse:
    count = delete_many(ids, organization_id=request.member.organization.pk)
    messages.success(request, f"{_counted(count)} deleted permanently.")
    return redirect(back)


def _export(request: MemberRequest, ids: list[Any], _back: str) -> HttpResponseBase:
    rows = Submission.objects.filter(organization=request.member.organization, pk__in=ids)
    return export_chosen(request, rows)


def _counted(count: int) -> str:
    return "1 submission is" if count == 1 else f"{count} submissions are"


ACTS = {
    "spam": _mark_spam,
    "not-spam": _mark_not_spam,
    "release": _release,
    "delete": _ask_to_delete,
    "delete-now": _delete,
    "export": _export,
}


@in_organization()
@require_safe
def live(request: MemberRequest) -> HttpResponse:
    """Return the address of the live stream with a short-lived token. The stream checks them again."""
    organization = request.member.organization
    narrowing = SubmissionsFilterForm(request.GET, organization=organization).narrowing()
    form = narrowing.form.pk if narrowing.form else None
    token = live_token(organization.pk, form, request.member.user.pk, request.session.session_key or "")
    return JsonResponse({"url": f"{settings.EVENTS_URL}/events?{urlencode({'token': token})}"})


urlpatterns = [
    path("submissions", submissions, name="submissions"),
    path("submissions/live", live, name="submissions-live"),
    path("submissions/act", act_on_chosen, name="submissions-act"),
    path("submissions/<str:submission_id>", submission, name="submission"),
]
