"""`/api/submissions`: list, read, mark spam or not, delete, export."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.errors import Detail, NotFound, Unauthorized, invalid
from config.api.filters import StrictFilterBackend
from config.api.schema import enveloped
from config.api.serializers import QuerySerializer
from config.api.views import KeyedViewSet, deleted, success
from config.base.ids import Prefix
from forms_app.models import Form
from keys.audit import record_event
from keys.audit.changes import changes
from keys.authentication import caller_key
from keys.idempotency import Repeatable
from keys.models import Permission
from submissions.exporting.csv_columns import COLUMNS_SCHEMA
from submissions.exporting.formats import EXPORTS
from submissions.exporting.stream import ExportQuery, stream_export
from submissions.lifecycle.held import release_by_hand
from submissions.lifecycle.spam_marks import change_many, delete_submissions, mark_not_spam, mark_spam
from submissions.models import Import, Submission
from submissions.reading.cursor import MalformedCursor, decode_cursor, read_on
from submissions.reading.filters import SubmissionFilters
from submissions.reading.listing import HEAVY_COLUMNS, Scope, count_and_find, read_exactly
from submissions.reading.pagination import CURSOR, SubmissionListQuery, SubmissionPagination, cursor_problems
from submissions.reading.searches_at_once import searching
from submissions.serializers import (
    BulkAction,
    BulkChange,
    BulkRecord,
    SubmissionChange,
    SubmissionRecord,
)

# Not `SubmissionRecord(many=True)`: drf-spectacular would take the export for a page of a list.
BARE_ARRAY = {"type": "array", "items": {"$ref": "#/components/schemas/Submission"}}
CONTENT_DISPOSITION = OpenApiParameter(
    "Content-Disposition", str, OpenApiParameter.HEADER, response=[200], description="Suggests a name for the file."
)
RECORDED_FILTERS = {"formId", "from", "to", "spam", "test"}  # in the audit trail; not `q`, which may be somebody's name
DONE = {
    BulkAction.DELETE: "deleted",
    BulkAction.SPAM: "now marked as spam",
    BulkAction.NOT_SPAM: "now marked as not spam",
}


class SubmissionViewSet(Repeatable, KeyedViewSet):
    """Submissions to the caller's forms."""

    id_prefix = Prefix.SUBMISSION
    queryset = Submission.objects.defer(*HEAVY_COLUMNS).order_by("-id")
    serializer_class = SubmissionRecord
    pagination_class = SubmissionPagination
    filterset_class = SubmissionFilters
    extra_query = ExportQuery
    resource = "submissions"
    permission_for = {
        "list": Permission.SUBMISSIONS_READ,
        "retrieve": Permission.SUBMISSIONS_READ,
        "partial_update": Permission.FORMS_WRITE,
        "destroy": Permission.FORMS_WRITE,
        "bulk": Permission.FORMS_WRITE,
        "export": Permission.SUBMISSIONS_EXPORT,
    }

    test_actions = tuple(permission_for)

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Set the scope that the filters select, by which rows are counted and read; `check` has set the filters."""
        only_tests = caller_key(self.request).is_test
        self.scope: Scope = self.filterset.scope(self.organization_id, only_tests=only_tests)
        return queryset

    def count_rows(self, queryset: QuerySet[Submission]) -> int:
        """Return the total: from the tallies if only a form and spam select, at the same cost for ten million rows."""
        total, self.found = count_and_find(self.scope, queryset.db)
        return total

    def read_rows(self, queryset: QuerySet[Submission], start: int, size: int, total: int) -> list[Submission]:
        """Return a page's rows: ids first, from an index and from the nearer end, so that far pages are quick."""
        return read_exactly(self.scope, start, size, total=total, alias=queryset.db, found=self.found)

    def list(self, request: Request) -> Response:
        """Return a page of the organization's submissions, newest first."""
        with searching(self.organization_id, request.query_params.get("q", "")):
            return self.read_on(request) if CURSOR in request.query_params else super().list(request)

    def read_on(self, request: Request) -> Response:
        """Return the next submissions after a cursor, in the order in which they became readable."""
        StrictFilterBackend().check(request, self)
        query = self.query(SubmissionListQuery)
        try:
            test = self.filterset.is_for_tests(only_tests=caller_key(request).is_test)
            position = decode_cursor(self.organization_id, query[CURSOR], test=test)
        except MalformedCursor:
            raise invalid(CURSOR, "invalid", "must be the `next` of an earlier page, or empty to begin.") from None
        self.filter_queryset(self.get_queryset())
        found = read_on(self.scope, position, query["limit"])
        return Response(
            {
                "data": self.get_serializer(found.rows, many=True).data,
                "pagination": {"limit": query["limit"], "next": found.next, "hasMore": found.has_more},
            }
        )

    def parameter_problems(self) -> Sequence[Detail]:
        """Return a Detail for each invalid query parameter that is no filter."""
        wrong = cursor_problems(self.request.query_params) if self.action == "list" else ()
        return [*super().parameter_problems(), *wrong]

    @property
    def query_serializer(self) -> type[QuerySerializer]:
        """The serializer of an action's query parameters, besides its filters."""
        return SubmissionListQuery if self.action == "list" else super().query_serializer

    def find(self) -> Submission:
        """
        Return the submission of the path.

        Raises Unauthorized besides for a live one, if the key sees test ones only, and NotFound for one of an undone
        import.
        """
        found: Submission = super().find()
        if caller_key(self.request).is_test and not found.is_test:
            raise Unauthorized
        if found.imported_in_id and Import.objects.being_deleted().filter(pk=found.imported_in_id).exists():
            raise NotFound
        return found

    @extend_schema(request=SubmissionChange, responses=enveloped(SubmissionRecord))
    def partial_update(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Mark a submission as spam or as not spam, or release one that is held; the last two deliver it."""
        wanted = self.read(SubmissionChange)
        found, messages = self.find(), []
        if "spam" in wanted:
            found = (mark_spam if wanted["spam"] else mark_not_spam)(found)
            messages.append("Marked as spam." if wanted["spam"] else "Marked as not spam.")
        if "held" in wanted:
            messages.append("Released." if found.held else "Not held.")
            found = release_by_hand(found)
        return self.show(found, " ".join(messages))

    def destroy(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the path
        """Delete a submission permanently."""
        submission: Submission = self.act()
        delete_submissions([submission.pk], is_recorded=True)
        return deleted(Prefix.SUBMISSION, submission.pk, "Submission deleted.")

    @extend_schema(
        operation_id="bulkUpdateSubmissions",
        request=BulkChange,
        responses=enveloped(BulkRecord),
    )
    def bulk(self, request: Request) -> Response:
        """Delete up to 100 submissions, or mark them as spam or not spam: all of them, or none if one is refused."""
        wanted = self.read(BulkChange)
        action = wanted["action"]

        def change() -> Response:
            only_tests, organization_id = caller_key(request).is_test, self.organization_id
            changed = change_many(wanted["ids"], action=action, organization_id=organization_id, only_tests=only_tests)
            return success({"changed": changed}, f"{changed:,} {'is' if changed == 1 else 'are'} {DONE[action]}.")

        return self.once(change)

    @extend_schema(
        operation_id="exportSubmissions",
        filters=True,
        parameters=[
            OpenApiParameter("format", str, enum=[*EXPORTS], default="csv", description="The format of the file."),
            CONTENT_DISPOSITION,
            OpenApiParameter(
                "columns", COLUMNS_SCHEMA, description="The columns of CSV and their order, such as `id,email`."
            ),
        ],
        responses={
            (200, "text/csv"): OpenApiResponse({"type": "string"}),
            (200, "application/json"): OpenApiResponse(BARE_ARRAY),
            (200, "application/x-ndjson"): OpenApiResponse({"type": "string"}),
        },
    )
    def export(self, request: Request) -> StreamingHttpResponse:
        """Stream everything that the filters select, oldest first, as CSV, JSON or NDJSON."""
        StrictFilterBackend().check(request, self)
        self.filter_queryset(self.get_queryset())
        rows = self.scope.rows().defer(*HEAVY_COLUMNS).order_by("id")
        query = self.query(ExportQuery)
        chosen = query["format"]
        key = caller_key(request)
        form = Form.objects.get(pk=self.scope.form_id) if self.scope.form_id else None
        response = stream_export(
            rows, chosen, organization_id=self.organization_id, form=form, columns=query["columns"]
        )
        found = changes({}, {name: value for name, value in request.query_params.items() if name in RECORDED_FILTERS})
        record_event(
            organization=key.organization, by=key, action="submissions.exported", subject=chosen, changes=found
        )
        return response


urlpatterns = [
    path("submissions", SubmissionViewSet.as_view({"get": "list"}), name="submissions"),
    path("submissions/export", SubmissionViewSet.as_view({"get": "export"}), name="submissions-export"),
    path("submissions/bulk", SubmissionViewSet.as_view({"post": "bulk"}), name="submissions-bulk"),
    path(
        "submissions/<str:id>",
        SubmissionViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="submission",
    ),
]
