"""Submissions and files, without their contents, and usage by day in the operators' admin, read-only."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from config.base.ids import Prefix, encode_id
from forms_app.models import Form
from keys.admin import BoundedPaginator, FoundById, ReadOnly
from submissions.models import StoredFile, Submission, UsageDay


@admin.register(Submission)
class SubmissionAdmin(FoundById):
    """When each arrived and what happened to it. Its values and its sender stay out: they belong to the owners."""

    list_display = ("public_id", "organization", "form", "created_at", "spam", "held", "dispatched_at")
    search_help_text = "ID of a submission or form, or slug of an organization"
    id_columns = {Prefix.SUBMISSION: "pk", Prefix.FORM: "form"}
    fields = (
        "public_id", "organization", "form", "created_at", "spam", "held", "held_until", "released_at", "dispatched_at",
        "position",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Submission]:
        rows = super().get_queryset(request).select_related("organization", "form")
        return rows.defer("data", "search_text", "controls", "meta", "spam_reasons")


@admin.register(StoredFile)
class StoredFileAdmin(FoundById):
    """Size, kind and scan of each file, and when it goes. Its name and its bytes stay out."""

    list_display = (
        "public_id",
        "form_id_text",
        "submission_id_text",
        "size",
        "content_type",
        "scan",
        "created_at",
        "removed_at",
    )
    search_help_text = "ID of a file, submission or form, or slug of an organization"
    id_columns = {Prefix.FILE: "pk", Prefix.SUBMISSION: "submission_id", Prefix.FORM: "form_id"}
    fields = (
        "public_id", "form_id_text", "submission_id_text", "size", "content_type", "sha256", "scan", "created_at",
        "stored_at", "expires_at", "removed_at",
    )  # fmt: skip
    readonly_fields = fields

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[StoredFile], search_term: str
    ) -> tuple[QuerySet[StoredFile], bool]:
        """Return the rows of an id, or of the forms of the organization with this slug: files have no foreign keys."""
        term = search_term.strip()
        if not term or term.partition("_")[0] in self.id_columns:
            return super().get_search_results(request, queryset, search_term)
        return queryset.filter(form_id__in=Form.objects.filter(organization__slug=term).values("pk")), False

    @admin.display(description="form")
    def form_id_text(self, row: StoredFile) -> str:
        return encode_id(Prefix.FORM, row.form_id)

    @admin.display(description="submission")
    def submission_id_text(self, row: StoredFile) -> str:
        return encode_id(Prefix.SUBMISSION, row.submission_id) if row.submission_id else ""


@admin.register(UsageDay)
class UsageDayAdmin(ReadOnly, admin.ModelAdmin):
    """Submissions, mails, refusals and stored bytes of each organization and UTC day."""

    list_display = ("day", "organization", "submissions", "mails", "refusals", "stored_bytes")
    list_select_related = ("organization",)
    search_fields = ("organization__name", "organization__slug")
    search_help_text = "Name or slug of an organization"
    ordering = ("-day", "-submissions")
    date_hierarchy = "day"
    paginator = BoundedPaginator
    list_per_page = 50
    show_full_result_count = False  # counting every organization's days takes time
