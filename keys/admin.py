"""The operators' admin: organizations, plans and limits, members, users, access keys, the audit trail."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib import admin, messages
from django.contrib.auth import get_permission_codename
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.db.models.options import Options
from django.forms import BaseInlineFormSet, ModelForm
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy

from config.base.ids import decode_id
from config.base.text import refuse_web_address
from keys.access_keys import revoke_key
from keys.audit import record_event
from keys.audit.changes import changes, values_of
from keys.members import sees_chosen_forms
from keys.models import AccessKey, AuditEvent, Identity, Membership, Organization, Role, User
from keys.organizations import rename_organization, set_plan
from keys.plans import Plan
from keys.suspension import request_deletion, resume_organization, suspend_organization

admin.site.site_header = admin.site.site_title = gettext_lazy("Fieldpost operators")
admin.site.index_title = gettext_lazy("Organizations, users, audit trail")
# allauth's own pages show secrets and session keys, and let an operator change an address but not the user's.
admin.site.unregister([EmailAddress, Authenticator, UserSession, Group])


MOST_LISTED = 10_000  # rows of a large table that its list counts and pages through; searches find the others
RIGHTS = ("is_active", "is_staff", "is_superuser")


def operator(request: HttpRequest) -> User:
    user: User = request.user  # type: ignore[assignment]  # the admin requires staff, so never anonymous
    return user


class NeverMadeNorDeleted:
    """No adding or deleting."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnly(NeverMadeNorDeleted):
    """No adding, changing or deleting, but actions with `permissions=["act"]`."""

    opts: "Options[Any]"

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Require the permission to change such objects; the one to view them is not enough."""
        return operator(request).has_perm(f"{self.opts.app_label}.{get_permission_codename('change', self.opts)}")


class BoundedPaginator(Paginator):
    """Counts at most 10,000 rows: counting millions takes longer than a request may."""

    @cached_property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]  # of the admin's lists
        return rows[:MOST_LISTED].count()


class FoundById(ReadOnly, admin.ModelAdmin):
    """
    The list of a large table, newest first, found by whole ids and by organization: each from an index.

    `id_columns`: the column that an id with this prefix is compared with.
    """

    id_columns: Mapping[str, str] = {}
    search_fields = ("pk",)  # shows the input; `get_search_results` searches
    ordering = ("-id",)
    paginator = BoundedPaginator
    list_per_page = 50
    show_full_result_count = False  # counting millions takes time

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        column = self.id_columns.get(term.partition("_")[0])
        if column is None:
            return queryset.filter(organization__slug=term), False
        try:
            return queryset.filter(**{column: decode_id(term.partition("_")[0], term)}), False
        except ValueError:
            return queryset.none(), False


class MembershipFormSet(BaseInlineFormSet):
    def clean(self) -> None:
        super().clean()
        kept = [form for form in self.forms if form.cleaned_data and not form.cleaned_data.get("DELETE")]
        if not any(form.cleaned_data.get("role") == Role.OWNER for form in kept):
            raise ValidationError(gettext("An organization needs an owner."))


class MembershipInline(admin.TabularInline):
    model = Membership
    formset = MembershipFormSet
    extra = 0
    autocomplete_fields = ["user"]
    readonly_fields = ["created_at"]


class NamedForm(ModelForm):
    """A form with a name that must hold no web address."""

    def clean_name(self) -> str:
        """Refuse a new name with a web address; older ones may stay."""
        name: str = self.cleaned_data["name"]
        if "name" in self.changed_data:
            try:
                refuse_web_address(name)
            except ValueError as error:
                raise ValidationError(str(error)) from None
        return name


class OrganizationForm(NamedForm):
    class Meta:
        model = Organization
        fields = ("name", "plan", "rate_limit", "storage_limit", "suspended_reason")

    def clean(self) -> dict[str, Any]:
        """Allow custom limits only for Enterprise, as `set_plan` does."""
        values = super().clean() or self.cleaned_data
        refused = {
            "rate_limit": gettext("A custom rate limit requires the Enterprise plan. Leave it empty."),
            "storage_limit": gettext("A custom storage limit requires the Enterprise plan. Leave it empty."),
        }
        for name, message in refused.items():
            if values.get(name) is not None and values.get("plan") != Plan.ENTERPRISE:
                self.add_error(name, message)
        return values


@admin.register(Organization)
class OrganizationAdmin(NeverMadeNorDeleted, admin.ModelAdmin):
    """
    Plans and limits. `forms_app.admin` adds the page that makes an organization, with its form and key.

    The clean-up deletes them: millions of rows take too long for a request.
    """

    form = OrganizationForm
    list_display = ("name", "slug", "plan", "rate_limit", "stored_bytes", "suspended_at", "created_at")
    list_filter = ("plan", ("suspended_at", admin.EmptyFieldListFilter))
    search_fields = ("name", "slug", "members__email")
    readonly_fields = ("slug", "usage", "stored_bytes", "suspended_at", "deletion_requested_at", "created_at")
    actions = ["suspend", "resume", "request_deletion"]
    inlines = [MembershipInline]
    ordering = ("-created_at",)

    def save_model(self, request: HttpRequest, obj: Organization, form: Any, change: bool) -> None:
        stored = Organization.objects.get(pk=obj.pk)
        rename_organization(stored, obj.name, by=operator(request))
        if {"plan", "rate_limit", "storage_limit"} & set(form.changed_data):
            limits = {"rate_limit": obj.rate_limit, "storage_limit": obj.storage_limit}
            set_plan(stored, Plan(obj.plan), by=operator(request), **limits)
        if "suspended_reason" in form.changed_data and stored.is_suspended:
            suspend_organization(stored, reason=obj.suspended_reason, by=operator(request))

    @admin.action(
        description=gettext_lazy("Suspend: keys and forms take nothing, deliveries wait"), permissions=["change"]
    )
    def suspend(self, request: HttpRequest, queryset: QuerySet[Organization]) -> None:
        """Suspend the selected organizations; those that are suspended keep their reason."""
        for organization in queryset.filter(suspended_at=None):
            suspend_organization(organization, by=operator(request))
        self.message_user(
            request, gettext("Suspended. Open one to enter the reason that its members see."), messages.SUCCESS
        )

    @admin.action(description=gettext_lazy("Resume: works again, waiting deliveries are sent"), permissions=["change"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Organization]) -> None:
        for organization in queryset:
            resume_organization(organization, by=operator(request))
        self.message_user(request, gettext("Resumed."), messages.SUCCESS)

    @admin.action(
        description=gettext_lazy("Delete, an hour from now: suspends, and resuming cancels"), permissions=["change"]
    )
    def request_deletion(self, request: HttpRequest, queryset: QuerySet[Organization]) -> None:
        for organization in queryset:
            request_deletion(organization, by=operator(request))
        self.message_user(
            request, gettext("Suspended, and deleted in one to two hours. Resume to cancel."), messages.WARNING
        )

    @admin.display(description=gettext_lazy("usage by day"))
    def usage(self, organization: Organization) -> str:
        return render_to_string("admin/usage_link.html", {"organization": organization})

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        kept = {row.pk: row.role for row in Membership.objects.filter(organization=form.instance)}
        for each in formset.forms:
            if not sees_chosen_forms(each.instance.role):
                each.instance.form_ids = None
        super().save_formset(request, form, formset, change)
        note = partial(record_event, organization=form.instance, by=operator(request))
        for membership in formset.new_objects:
            note(action="member.added", subject=f"{membership.user.email} as {membership.role}")
        for membership, _ in formset.changed_objects:
            found = changes({"role": kept.get(membership.pk)}, {"role": membership.role})
            subject = f"{membership.user.email} is now {membership.role}"
            note(action="member.role_changed", subject=subject, changes=found)
        for membership in formset.deleted_objects:
            note(action="member.removed", subject=membership.user.email)


class UserForm(NamedForm):
    def clean_email(self) -> str:
        """Return the address as it is stored."""
        return str(self.cleaned_data["email"]).lower()


@admin.register(User)
class UserAdmin(NeverMadeNorDeleted, admin.ModelAdmin):
    """Users. They set their passwords and delete their accounts themselves, and see what data that deletes."""

    form = UserForm
    list_display = ("email", "is_active", "is_staff", "date_joined", "last_login")
    list_filter = ("is_active", "is_staff")
    search_fields = ("email",)
    fields = ("email", "name", "is_active", "is_staff", "is_superuser", "date_joined", "last_login")
    ordering = ("-date_joined",)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return admin.ModelAdmin.has_add_permission(self, request)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Only a superuser can change `is_staff` and `is_superuser`."""
        fixed = ("email", "date_joined", "last_login") if obj else ("date_joined", "last_login")
        return fixed if operator(request).is_superuser else (*fixed, "is_staff", "is_superuser")

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        before = values_of(User.objects.get(pk=obj.pk) if change else User(), *RIGHTS)
        if not change:
            obj.set_unusable_password()  # by mail, or `manage.py login_link`
            record_event(organization=None, action="operator.account_created", subject=obj.email)
        super().save_model(request, obj, form, change)
        found = changes(before, values_of(obj, *RIGHTS))
        if found:
            record_event(organization=None, action="operator.rights_changed", subject=obj.email, changes=found)


@admin.register(Authenticator)
class AuthenticatorAdmin(ReadOnly, admin.ModelAdmin):
    """Second factors and passkeys. An operator can delete those that a user has lost. Secrets are not shown."""

    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    list_select_related = ("user",)
    search_fields = ("user__email",)
    fields = ("user", "type", "created_at", "last_used_at")
    ordering = ("-created_at",)

    def delete_model(self, request: HttpRequest, obj: Authenticator) -> None:
        record_event(organization=None, action="operator.second_step_removed", subject=f"{obj.user.email}: {obj.type}")
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Authenticator]) -> None:
        for one in queryset.select_related("user"):
            self.delete_model(request, one)

    has_delete_permission = admin.ModelAdmin.has_delete_permission


@admin.register(Identity)
class IdentityAdmin(ReadOnly, admin.ModelAdmin):
    """Logins of the OpenID issuer that open an account. An operator can delete one; the next login links another."""

    list_display = ("user", "issuer", "subject", "created_at")
    list_select_related = ("user",)
    search_fields = ("user__email", "subject")
    fields = ("user", "issuer", "subject", "created_at")
    ordering = ("-created_at",)

    def delete_model(self, request: HttpRequest, obj: Identity) -> None:
        subject = f"{obj.user.email}: {obj}"
        record_event(organization=None, action="operator.identity_removed", subject=subject)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Identity]) -> None:
        for one in queryset.select_related("user"):
            self.delete_model(request, one)

    has_delete_permission = admin.ModelAdmin.has_delete_permission


@admin.register(AccessKey)
class AccessKeyAdmin(ReadOnly, admin.ModelAdmin):
    """Access keys. An operator can revoke those that leaked."""

    list_display = ("name", "organization", "kind", "mode", "admin", "hint", "last_used_at", "revoked_at")
    list_filter = ("kind", "mode", "admin")
    search_fields = ("name", "hint", "organization__name", "organization__slug")
    list_select_related = ("organization",)
    exclude = ("digest", "publishable_token")
    actions = ["revoke"]

    @admin.action(description=gettext_lazy("Revoke permanently"), permissions=["act"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[AccessKey]) -> None:
        for key in queryset.select_related("organization"):
            revoke_key(key, by=operator(request))
        self.message_user(request, gettext("Revoked."), messages.SUCCESS)


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnly, admin.ModelAdmin):
    """The audit trail of every organization, deleted ones too, and of the operators."""

    list_display = ("created_at", "organization_slug", "actor", "action", "subject", "address")
    list_filter = ("action",)
    search_fields = ("organization_slug", "actor", "subject", "address")
    date_hierarchy = "created_at"
    paginator = BoundedPaginator
    show_full_result_count = False  # a count over all organizations would read the whole table
