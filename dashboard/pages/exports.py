"""Exports from the dashboard: the number of rows, the format, and the progress while an export runs."""

import secrets

from django.contrib import messages
from django.core.cache import cache
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import RateLimited
from config.base.paging import whole_number
from dashboard.access import MemberRequest, busy, in_organization
from dashboard.accounts.time_zones import current_zone
from dashboard.frame.limits.costs import expensive, searches
from dashboard.frame.limits.page import too_many
from dashboard.html_forms.submissions import NAMES, TEST, SubmissionsFilterForm
from forms_app.models import Form
from keys.audit import record_event
from keys.audit.changes import changes
from keys.models import Role
from keys.plans import show_bytes
from submissions.exporting.files_zip import count_files, stream_files
from submissions.exporting.formats import EXPORTS
from submissions.exporting.stream import stream_export
from submissions.files.storage import FilesAway
from submissions.models import Submission
from submissions.reading.searches_at_once import searching

FORMATS = [
    (
        "csv",
        "CSV",
        gettext_lazy("For spreadsheets. Names become columns; cells that would run as a formula are escaped."),
    ),
    ("json", "JSON", gettext_lazy("One array of records, in the format of the API.")),
    ("ndjson", "NDJSON", gettext_lazy("One record per line, for programs that process a stream.")),
]
RECORDED = [TEST, *(name for name in NAMES if name != "q")]  # filters in the audit trail; a text may be somebody's name
REMEMBERED = 3600  # seconds that the progress of an export is kept after its last row


@in_organization(of_forms=True)
@require_safe
@expensive(searches)
def exports(request: MemberRequest) -> HttpResponse:
    """Show the number of submissions that pass the filters, and ask for the format."""
    organization = request.member.organization
    filters = SubmissionsFilterForm(request.GET, seen=request.member.forms)
    narrowing = filters.narrowing()
    scope = narrowing.scope(request.member.forms)
    try:
        with searching(organization.pk, scope.text):
            count = scope.rows().count()
            files, size = count_files(organization.pk, scope.rows())
    except RateLimited as refusal:
        return busy(request, refusal)
    context = {
        "files": files,
        "files_size": show_bytes(size),
        "filters": filters,
        "narrowing": narrowing,
        "zone": current_zone(),
        "count": count,
        "formats": FORMATS,
        "kept": filters.kept(),
        "query": filters.query(),
        "run": secrets.token_urlsafe(12),
    }
    return render(request, "dashboard/exports.html", context)


@in_organization(to_change=Role.VIEWER, while_suspended=True, of_forms=True)
@require_POST
@expensive()
def run_export(request: MemberRequest) -> HttpResponseBase:
    """Stream the export. The page polls its progress under the name that it sent as `run`."""
    seen = request.member.forms
    filters = SubmissionsFilterForm(request.POST, seen=seen)
    if refused := refuse_stale(request, filters, _back(request, filters)):
        return refused
    narrowing = filters.narrowing()
    return _stream(request, narrowing.scope(seen).rows(), narrowing.form)


@in_organization(to_change=Role.VIEWER, while_suspended=True, of_forms=True)
@require_POST
@expensive()
def export_files(request: MemberRequest) -> HttpResponseBase:
    """Stream the files of the submissions that pass the filters, as a ZIP."""
    member = request.member
    filters = SubmissionsFilterForm(request.POST, seen=member.forms)
    if refused := refuse_stale(request, filters, _back(request, filters)):
        return refused
    narrowing = filters.narrowing()
    rows = narrowing.scope(member.forms).rows()
    try:
        response = stream_files(rows, organization_id=member.organization.pk, form=narrowing.form)
    except RateLimited as error:
        return too_many(request, error)
    except FilesAway as error:
        messages.error(request, error.message)
        return redirect(_back(request, filters))
    _record(request, "zip")
    return response


def refuse_stale(request: MemberRequest, filters: SubmissionsFilterForm, back: str) -> HttpResponse | None:
    """
    Return the answer to an action that would reach what its page did not show; None for any other.

    Another tab has switched between live and test data, or a filter is no longer valid: an invalid one narrows nothing.
    """
    if filters.is_of_other_mode:
        said = gettext("You switched between live and test data meanwhile. Nothing was done.")
    elif not filters.is_valid():
        said = gettext("A filter is no longer valid: its form may have been erased. Nothing more was done.")
    else:
        return None
    messages.warning(request, said)
    return redirect(back)


def _back(request: MemberRequest, filters: SubmissionsFilterForm) -> str:
    return filters.address_at(reverse("dashboard:exports", args=[request.member.organization.slug]))


def export_chosen(request: MemberRequest, rows: QuerySet[Submission]) -> HttpResponseBase:
    forms = Form.objects.filter(pk__in=rows.order_by().values("form_id").distinct())[:2]
    return _stream(request, rows, forms[0] if len(forms) == 1 else None)


def _stream(request: MemberRequest, rows: QuerySet[Submission], form: Form | None) -> HttpResponseBase:
    chosen = request.POST.get("format", "")
    if chosen not in EXPORTS:
        raise Http404
    member = request.member
    key = _progress_key(request, request.POST.get("run", ""))

    def remember(written: int, is_whole: bool) -> None:
        cache.set(key, (written, is_whole), REMEMBERED)

    try:
        response = stream_export(
            rows.order_by("id"), chosen, organization_id=member.organization.pk, form=form, report=remember
        )
    except RateLimited as error:
        return too_many(request, error)
    _record(request, chosen)
    return response


def _record(request: MemberRequest, chosen: str) -> None:
    """Record an export in the audit trail, with its filters. `chosen`: its format."""
    member = request.member
    found = changes({}, {name: request.POST[name] for name in RECORDED if request.POST.get(name)})
    record_event(
        organization=member.organization, by=member.user, action="submissions.exported", subject=chosen, changes=found
    )


def _progress_key(request: HttpRequest, run: str) -> str:
    """Return the cache key of a run's progress. It contains the user, so that users only see their own runs."""
    return f"export {request.user.pk} {run[:40].encode().hex()}"


@in_organization(of_forms=True)
@require_safe
def progress(request: MemberRequest, run: str) -> HttpResponse:
    """Show the progress of an export, as the fragment that the page polls until the export is done."""
    written, is_whole = cache.get(_progress_key(request, run), (None, False))
    total = whole_number(request.GET.get("total", "0"))
    context = {"rows": written, "finished": is_whole, "run": run, "total": total}
    return render(request, "dashboard/parts/export_progress.html", context)


urlpatterns = [
    path("submissions/export", exports, name="exports"),
    path("submissions/export/run", run_export, name="exports-run"),
    path("submissions/export/files", export_files, name="exports-files"),
    path("submissions/export/progress/<str:run>", progress, name="exports-progress"),
]
