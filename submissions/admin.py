"""Submissions, without their values, and usage of organizations by day in the operators' admin, read-only."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from config.ids import Prefix
from keys.admin import BoundedPaginator, FoundById, ReadOnly
from submissions.models import Submission, UsageDay


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
        """Return the submissions with their form, without their values."""
        rows = super().get_queryset(request).select_related("organization", "form")
        return rows.defer("data", "search_text", "controls", "meta", "spam_reasons")


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
