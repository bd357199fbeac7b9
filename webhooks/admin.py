"""Deliveries and attempts in the operators' admin, read-only."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet, Window
from django.db.models.functions import RowNumber
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from config.base.ids import Prefix
from keys.admin import FoundById, ReadOnly
from webhooks.models import ATTEMPTS_KEPT, Attempt, Delivery


class AttemptInline(ReadOnly, admin.TabularInline):
    model = Attempt
    fields = ("started_at", "status", "duration_ms", "error", "response")
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[Attempt]:
        """Return the newest attempts of each delivery, without their requests."""
        number = Window(RowNumber(), partition_by="delivery", order_by="-id")
        rows: QuerySet[Attempt] = super().get_queryset(request).defer("request")
        return rows.annotate(number=number).filter(number__lte=ATTEMPTS_KEPT)


@admin.register(Delivery)
class DeliveryAdmin(FoundById):
    """Each delivery with its attempts. The message's body stays out: it holds submitters' data."""

    list_display = ("created_at", "organization", "event", "channel", "target", "status", "attempt_count")
    list_filter = ("status",)
    search_help_text = gettext_lazy("ID of a delivery, submission or webhook, or slug of an organization")
    id_columns = {Prefix.DELIVERY: "pk", Prefix.SUBMISSION: "submission", Prefix.WEBHOOK: "receiver"}
    fields = (
        "id", "organization", "account", "event", "channel", "target", "host", "submission_id", "message_id", "status",
        "priority", "attempt_count", "next_attempt_at", "lease_until", "created_at", "finished_at",
    )  # fmt: skip
    readonly_fields = fields
    inlines: ClassVar[Any] = [AttemptInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        return super().get_queryset(request).select_related("organization")
