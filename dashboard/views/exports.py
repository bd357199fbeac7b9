"""Exports from the dashboard: what would come, in which format, and how far it is while it runs."""

import secrets

from django.core.cache import cache
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from config.paging import whole_number
from dashboard.access import PlacedRequest, in_organization
from dashboard.html_forms.submissions import NAMES, SubmissionsFilterForm
from forms_app.models import Form
from keys.audit import record_event
from submissions.exporting.stream import EXPORTS, stream_export
from submissions.models import Submission

FORMATS = [
    ("csv", "CSV", "For spreadsheets. Names become columns; cells that a spreadsheet would run are disarmed."),
    ("json", "JSON", "One array of records, as the API gives them."),
    ("ndjson", "NDJSON", "One record a line, for programs that read as they go."),
]
REMEMBERED = 3600  # seconds that an export's progress is known after its last row


@in_organization()
@require_safe
def exports(request: PlacedRequest) -> HttpResponse:
    """Show how many submissions the filters leave, and ask for the format."""
    organization = request.place.organization
    filters = SubmissionsFilterForm(request.GET, organization=organization)
    narrowing = filters.narrowing()
    context = {
        "filters": filters,
        "narrowing": narrowing,
        "count": narrowing.scope(organization).rows().count(),
        "formats": FORMATS,
        "kept": [(name, request.GET[name]) for name in NAMES if request.GET.get(name)],
        "query": filters.query(),
        "run": secrets.token_urlsafe(12),
    }
    return render(request, "dashboard/exports.html", context)


@in_organization()
@require_POST
def run_export(request: PlacedRequest) -> HttpResponseBase:
    """Stream the export. Its progress is kept under the name that the page gave it."""
    organization = request.place.organization
    narrowing = SubmissionsFilterForm(request.POST, organization=organization).narrowing()
    return _stream(request, narrowing.scope(organization).rows(), narrowing.form)


def export_chosen(request: PlacedRequest, rows: QuerySet[Submission]) -> HttpResponseBase:
    """Stream some rows that were ticked."""
    forms = Form.objects.filter(pk__in=rows.order_by().values("form_id").distinct())[:2]
    return _stream(request, rows, forms[0] if len(forms) == 1 else None)


def _stream(request: PlacedRequest, rows: QuerySet[Submission], form: Form | None) -> HttpResponseBase:
    chosen = request.POST.get("format", "")
    if chosen not in EXPORTS:
        raise Http404
    place = request.place
    record_event(organization=place.organization, by=place.user, action="submissions.exported", subject=chosen)
    key = _progress_key(request, request.POST.get("run", ""))

    def remember(written: int, is_whole: bool) -> None:
        cache.set(key, (written, is_whole), REMEMBERED)

    return stream_export(rows.order_by("id"), chosen, form=form, tell=remember)


def _progress_key(request: HttpRequest, run: str) -> str:
    """Return the name of a run's progress; a person sees their own alone."""
    return f"export {request.user.pk} {run[:40].encode().hex()}"


@in_organization()
@require_safe
def progress(request: PlacedRequest, run: str) -> HttpResponse:
    """Show how far an export is, as the piece of the page that asks again and again until it is done."""
    written, is_whole = cache.get(_progress_key(request, run), (None, False))
    total = request.GET.get("total", "0")
    context = {"rows": written, "finished": is_whole, "run": run}
    context["total"] = whole_number(total)
    return render(request, "dashboard/parts/export_progress.html", context)


urlpatterns = [
    path("submissions/export", exports, name="exports"),
    path("submissions/export/run", run_export, name="exports-run"),
    path("submissions/export/progress/<str:run>", progress, name="exports-progress"),
]
