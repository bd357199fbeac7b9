"""The audit trail: a list with filters, and the same as a file."""

from collections.abc import Callable, Generator, Iterator
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import RateLimited
from config.base.database import snapshot
from dashboard.access import MemberRequest, in_organization
from dashboard.frame.limits.costs import expensive
from dashboard.frame.limits.page import too_many
from dashboard.html_forms.audit import AuditFilterForm
from keys.audit import record_event
from keys.audit.changes import changes, shown
from keys.audit.reading import COLUMNS, record, sentence, shown_actor
from keys.models import AuditEvent, Role
from submissions.exporting.csv_lines import BOM, csv_line
from submissions.exporting.formats import one_line
from submissions.exporting.response import stream_file
from submissions.json_text import dump_json

PAGE_SIZE = 50
ROWS_A_FETCH = 500
Events = QuerySet[AuditEvent]


@in_organization(Role.ADMIN)
@require_safe
def audit(request: MemberRequest) -> HttpResponse:
    """Show one page of the trail, newest first."""
    filters = AuditFilterForm(request.GET, organization=request.member.organization)
    rows = filters.narrow().order_by("-created_at", "-pk")
    page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "events": [_described(event) for event in page],
        "trail": page,
        "filters": filters,
        "query": filters.query(),
        "chosen": filters.chosen(),
        "days": settings.AUDIT_RETENTION_DAYS,
    }
    return render(request, "dashboard/audit.html", context)


def _described(event: AuditEvent) -> dict[str, Any]:
    """Return the actor, the action, the values and the time. The trail keeps the names of deleted users and keys."""
    words, subject = sentence(event)
    return {
        "who": shown_actor(event),
        "is_key": event.access_key is not None,
        "words": words,
        "subject": subject,
        "changes": [(name, shown(old), shown(new)) for name, (old, new) in (event.changes or {}).items()],
        "address": event.address,
        "moment": event.created_at,
    }


@in_organization(Role.ADMIN)
@require_POST
@expensive()
def export(request: MemberRequest) -> HttpResponseBase:
    """Stream the filtered trail, oldest first, as CSV or NDJSON."""
    chosen, organization = request.POST.get("format", ""), request.member.organization
    if chosen not in FORMATS:
        raise Http404
    filters = AuditFilterForm(request.POST, organization=organization)
    rows = filters.narrow().order_by("created_at", "pk")
    media_type, write = FORMATS[chosen]
    try:
        response = stream_file(
            _from_snapshot(rows, write), media_type, f"{organization.slug}-audit", chosen, by=organization.pk
        )
    except RateLimited as error:
        return too_many(request, error)
    found = changes({}, dict(filters.chosen()))
    record_event(organization=organization, action="trail.exported", subject=chosen, changes=found)
    return response


def _from_snapshot(rows: Events, write: Callable[[Events], Iterator[bytes]]) -> Generator[bytes, None, None]:
    with snapshot(settings.EXPORT) as alias:
        yield from write(rows.using(alias))


def _csv(rows: Events) -> Iterator[bytes]:
    yield (BOM + csv_line(COLUMNS)).encode()
    for event in rows.iterator(ROWS_A_FETCH):
        values = record(event)
        values["changes"] = dump_json(values["changes"]) if values["changes"] else ""
        yield csv_line([values[name] for name in COLUMNS]).encode()


def _ndjson(rows: Events) -> Iterator[bytes]:
    for event in rows.iterator(ROWS_A_FETCH):
        yield one_line(dump_json(record(event)).encode()) + b"\n"


FORMATS: dict[str, tuple[str, Callable[[Events], Iterator[bytes]]]] = {
    "csv": ("text/csv; charset=utf-8", _csv),
    "ndjson": ("application/x-ndjson", _ndjson),
}
urlpatterns = [path("audit", audit, name="audit"), path("audit/export", export, name="audit-export")]
