"""Forms, to block one, and reports of hosted forms in the operators' admin."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from config.base.ids import InvalidId, Prefix, decode_id
from config.base.times import now
from forms_app.models import Form, FormReport
from forms_app.moderation.blocking import block_form, unblock_form
from forms_app.sign_up import create_organization
from keys import admin as keys_admin
from keys.admin import ReadOnly, operator
from keys.models import Organization, User
from keys.plans import Plan


class NewOrganizationForm(keys_admin.NamedForm):
    owner = forms.EmailField(
        max_length=254, label=gettext_lazy("Owner"), help_text=gettext_lazy("An unknown address gets an account.")
    )

    class Meta:
        model = Organization
        fields = ("name", "owner", "plan")


admin.site.unregister(Organization)


@admin.register(Organization)
class OrganizationAdmin(keys_admin.OrganizationAdmin):
    """Also makes organizations: with their form, which `keys` does not know."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return admin.ModelAdmin.has_add_permission(self, request)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Return the form of a new organization, or the one that changes it."""
        return super().get_form(request, obj, change, **kwargs, **({} if obj else {"form": NewOrganizationForm}))

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"plan": settings.DEFAULT_PLAN}

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return super().get_readonly_fields(request, obj) if obj else ()

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        return super().get_inlines(request, obj) if obj else []

    def save_model(self, request: HttpRequest, obj: Organization, form: Any, change: bool) -> None:
        """Make or save it through the functions that also write the audit trail."""
        if change:
            super().save_model(request, obj, form, change)
            return
        email = form.cleaned_data["owner"].lower()
        made = create_organization(
            name=obj.name,
            owner=User.objects.filter(email=email).first() or User.objects.create_user(email),
            plan=Plan(obj.plan),
            by=operator(request),
            number_taken_slugs=True,
        )
        obj.pk, obj.slug = made.pk, made.slug


@admin.register(Form)
class FormAdmin(ReadOnly, admin.ModelAdmin):
    """Forms, found by their whole id or the slug of their organization, to block one. Without their content."""

    list_display = ("name", "form_id", "organization", "status", "blocked_at")
    list_filter = (("blocked_at", admin.EmptyFieldListFilter),)
    list_select_related = ("organization",)
    fields = ("name", "form_id", "organization", "status", "blocked_at", "blocked_reason", "created_at")
    search_fields = ("organization__slug",)
    search_help_text = "Whole ID of a form, or slug of an organization"
    actions = ["block", "unblock"]
    show_full_result_count = False

    @admin.display(description="ID")
    def form_id(self, form: Form) -> str:
        return form.public_id

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Form], search_term: str) -> Any:
        try:
            return queryset.filter(pk=decode_id(Prefix.FORM, search_term.strip())), False
        except InvalidId:
            return super().get_search_results(request, queryset, search_term)

    @admin.action(description="Block", permissions=["act"])
    def block(self, request: HttpRequest, queryset: QuerySet[Form]) -> None:
        """Block the selected forms; those that are blocked keep their reason. The command gives a reason."""
        for form in queryset.filter(blocked_at=None).select_related("organization"):
            block_form(form, by=operator(request))
        self.message_user(request, "Blocked. The owners get a mail.", messages.SUCCESS)

    @admin.action(description="Unblock", permissions=["act"])
    def unblock(self, request: HttpRequest, queryset: QuerySet[Form]) -> None:
        for form in queryset.select_related("organization"):
            unblock_form(form, by=operator(request))
        self.message_user(request, "Unblocked. The owners get a mail.", messages.SUCCESS)


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
        return report.reason[:80]

    @admin.action(description="Mark as handled", permissions=["act"])
    def mark_as_handled(self, request: HttpRequest, queryset: QuerySet[FormReport]) -> None:
        queryset.filter(handled_at=None).update(handled_at=now())
        self.message_user(request, "Marked as handled.", messages.SUCCESS)
