"""Reports of hosted forms in the operators' admin."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from config.times import now
from forms_app.models import FormReport
from keys.admin import ReadOnly, operator


@admin.register(FormReport)
class FormReportAdmin(ReadOnly, admin.ModelAdmin):
    """Each report; operators mark them as handled, and suspend an organization in its own page."""

    list_display = ("created_at", "organization_slug", "form_name", "short_reason", "handled_at")
    list_filter = (("handled_at", admin.EmptyFieldListFilter),)
    search_fields = ("organization_slug", "form_name", "reason")
    fields = ("form", "form_name", "organization_slug", "reason", "address", "created_at", "handled_at")
    actions = ["mark_as_handled"]

    @admin.display(description="Reason")
    def short_reason(self, report: FormReport) -> str:
        """Return the start of the reason."""
        return report.reason[:80]

    def has_handle_permission(self, request: HttpRequest) -> bool:
        """Require the permission to change reports; the one to view them is not enough."""
        return operator(request).has_perm("forms_app.change_formreport")

    @admin.action(description="Mark as handled", permissions=["handle"])
    def mark_as_handled(self, request: HttpRequest, queryset: QuerySet[FormReport]) -> None:
        """Mark the selected reports."""
        queryset.filter(handled_at=None).update(handled_at=now())
        self.message_user(request, "Marked as handled.", messages.SUCCESS)
