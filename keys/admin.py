"""The operators' admin: organizations with plan and limit, people, members, the audit trail, keys."""

from functools import partial
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin, messages
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms import BaseInlineFormSet, ModelForm
from django.http import HttpRequest

from keys.access_keys import revoke_key
from keys.audit import record_event
from keys.models import AccessKey, AuditEvent, Membership, Organization, Role, User
from keys.organizations import rename_organization, set_plan
from keys.plans import Plan

admin.site.site_header = admin.site.site_title = "Fieldpost operators"
admin.site.index_title = "Organizations, people, trail"
admin.site.unregister([EmailAddress, Authenticator, Group])  # theirs would show secrets, and addresses out of step


def operator(request: HttpRequest) -> User:
    """Return who is logged in: the admin lets nobody else in."""
    user: User = request.user  # type: ignore[assignment]  # staff, so not anonymous
    return user


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


class MembershipFormSet(BaseInlineFormSet):
    """The members of one organization, as an operator changes them."""

    def clean(self) -> None:
        """Somebody always owns an organization, whoever changes its members."""
        super().clean()
        kept = [form for form in self.forms if form.cleaned_data and not form.cleaned_data.get("DELETE")]
        if not any(form.cleaned_data.get("role") == Role.OWNER for form in kept):
            raise ValidationError("An organization needs an owner.")


class MembershipInline(admin.TabularInline):
    """Who belongs to an organization."""

    model = Membership
    formset = MembershipFormSet
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
        values = super().clean() or self.cleaned_data
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
        """Rename, and move the plan, by the functions that also write the trail."""
        stored = Organization.objects.get(pk=obj.pk)
        rename_organization(stored, obj.name, by=operator(request))
        if {"plan", "rate_limit"} & set(form.changed_data):
            set_plan(stored, Plan(obj.plan), by=operator(request), rate_limit=obj.rate_limit)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Save members, and write what an operator did to them into the organization's trail."""
        super().save_formset(request, form, formset, change)
        note = partial(record_event, organization=form.instance, by=operator(request))
        for membership in formset.new_objects:
            note(action="member.added", subject=f"{membership.user.email} as {membership.role}")
        for membership, _ in formset.changed_objects:
            note(action="member.role_changed", subject=f"{membership.user.email} is now {membership.role}")
        for membership in formset.deleted_objects:
            note(action="member.removed", subject=membership.user.email)


@admin.register(User)
class UserAdmin(admin.ModelAdmin):
    """People. Passwords are theirs: they set them by mail."""

    list_display = ("email", "is_active", "is_staff", "date_joined", "last_login")
    list_filter = ("is_active", "is_staff")
    search_fields = ("email",)
    fields = ("email", "name", "is_active", "is_staff", "is_superuser", "date_joined", "last_login")
    ordering = ("-date_joined",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Nobody makes themselves or others more than they are."""
        fixed = ("email", "date_joined", "last_login")
        return fixed if operator(request).is_superuser else (*fixed, "is_staff", "is_superuser")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse: people sign up, or are made by a command."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: people delete their accounts, and see first what goes with them."""
        return False


@admin.register(Authenticator)
class AuthenticatorAdmin(ReadOnly, admin.ModelAdmin):
    """Second steps and passkeys, to be deleted for somebody who has lost theirs. What they hold is not shown."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    list_select_related = ("user",)
    search_fields = ("user__email",)
    fields = ("user", "type", "created_at", "last_used_at")
    ordering = ("-created_at",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may delete them by Django's permissions."""
        return admin.ModelAdmin.has_delete_permission(self, request, obj)


@admin.register(AccessKey)
class AccessKeyAdmin(ReadOnly, admin.ModelAdmin):
    """Keys, to be revoked when they leak."""

    list_display = ("name", "organization", "kind", "admin", "hint", "last_used_at", "revoked_at")
    list_filter = ("kind", "admin")
    search_fields = ("name", "hint", "organization__name", "organization__slug")
    list_select_related = ("organization",)
    exclude = ("digest", "publishable_token")
    actions = ["revoke"]

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Whoever may change keys may stop them; looking is not enough."""
        return operator(request).has_perm("keys.change_accesskey")

    @admin.action(description="Revoke for good", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[AccessKey]) -> None:
        """Stop the chosen keys."""
        for key in queryset.select_related("organization"):
            revoke_key(key, by=operator(request))
        self.message_user(request, "Revoked.", messages.SUCCESS)


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnly, admin.ModelAdmin):
    """The trail of every organization."""

    list_display = ("created_at", "organization", "actor", "action", "subject")
    list_filter = ("action",)
    search_fields = ("organization__slug", "user__email", "subject")
    list_select_related = ("organization",)
    date_hierarchy = "created_at"
    show_full_result_count = False  # of all organizations together: a count would read the whole table
