"""Usage of organizations by day in the operators' admin, read-only."""

from django.contrib import admin

from keys.admin import ReadOnly
from submissions.models import UsageDay


@admin.register(UsageDay)
class UsageDayAdmin(ReadOnly, admin.ModelAdmin):
    """Submissions, mails, refusals and stored bytes of each organization and UTC day."""

    list_display = ("day", "organization", "submissions", "mails", "refusals", "stored_bytes")
    list_select_related = ("organization",)
    search_fields = ("organization__name", "organization__slug")
    search_help_text = "Name or slug of an organization"
    ordering = ("-day", "-submissions")
    date_hierarchy = "day"
    list_per_page = 50
    show_full_result_count = False  # counting every organization's days takes time
