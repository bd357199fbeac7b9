"""The operators' admin: organizations with plan and limit, people, members, the audit trail, keys."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from keys.access_keys import revoke_key
from keys.models import AccessKey, AuditEvent, Membership, Organization, User
from keys.organizations import set_plan
from keys.plans import Plan

admin.site.site_header = admin.site.site_title = "Fieldpost operators"
admin.site.index_title = "Organizations, people, trail"


class ReadOnly:
    """No adding, changing or deleting."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse."""
        return False


class MembershipInline(admin.TabularInline):
    """Who belongs to an organization."""

    model = Membership
    extra = 0
    autocomplete_fields = ["user"]
    readonly_fields = ["created_at"]


class OrganizationForm(ModelForm):
    """Name, plan and the limit of an Enterprise organization."""

    class Meta:
        model = Organization
        fields = ("name", "plan", "rate_limit")

    def clean(self) -> dict[str, Any]:
        """A limit of its own is for Enterprise alone, as `set_plan` has it."""
        values = super().clean() or {}
        if values.get("rate_limit") is not None and values.get("plan") != Plan.ENTERPRISE:
            self.add_error("rate_limit", "A rate limit of its own is for the Enterprise plan alone. Leave it empty.")
        return values


@admin.register(Organization)
class OrganizationAdmin(admin.ModelAdmin):
    """Plans and limits; made by sign-up or `create_organization`, which make them whole."""

    form = OrganizationForm
    list_display = ("name", "slug", "plan", "rate_limit", "created_at")
    list_filter = ("plan",)
    search_fields = ("name", "slug", "members__email")
    readonly_fields = ("slug", "created_at")
    inlines = [MembershipInline]
    ordering = ("-created_at",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse: a half organization would have no default form and no key."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: deleting millions of rows is not a click's work."""
        return False

    def save_model(self, request: HttpRequest, obj: Organization, form: Any, change: bool) -> None:
        """Save the name; move the plan by the one function that also writes the trail."""
        if {"plan", "rate_limit"} & set(form.changed_data):
            set_plan(obj, Plan(obj.plan), by=request.user, rate_limit=obj.rate_limit)  # type: ignore[arg-type]  # staff
        super().save_model(request, obj, form, change)


@admin.register(User)
class UserAdmin(admin.ModelAdmin):
    """People. Passwords are theirs: they set them by mail."""

    list_display = ("email", "is_active", "is_staff", "date_joined", "last_login")
    list_filter = ("is_active", "is_staff")
    search_fields = ("email",)
    fields = ("email", "name", "is_active", "is_staff", "is_superuser", "date_joined", "last_login")
    readonly_fields = ("email", "date_joined", "last_login")
    ordering = ("-date_joined",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse: people sign up, or are made by a command."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: people delete their accounts, and see first what goes with them."""
        return False


@admin.register(AccessKey)
class AccessKeyAdmin(ReadOnly, admin.ModelAdmin):
    """Keys, to be revoked when they leak."""

    list_display = ("name", "organization", "kind", "admin", "hint", "last_used_at", "revoked_at")
    list_filter = ("kind", "admin")
    search_fields = ("name", "hint", "organization__name", "organization__slug")
    list_select_related = ("organization",)
    exclude = ("digest", "publishable_token")
    actions = ["revoke"]

    @admin.action(description="Revoke for good")
    def revoke(self, request: HttpRequest, queryset: QuerySet[AccessKey]) -> None:
        """Stop the chosen keys."""
        for key in queryset.select_related("organization"):
            revoke_key(key, by=request.user)  # type: ignore[arg-type]  # staff
        self.message_user(request, "Revoked.", messages.SUCCESS)


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnly, admin.ModelAdmin):
    """The trail of every organization."""

    list_display = ("created_at", "organization", "user", "access_key", "action", "subject")
    list_filter = ("action",)
    search_fields = ("organization__slug", "user__email", "subject")
    list_select_related = ("organization", "user", "access_key")
    date_hierarchy = "created_at"
