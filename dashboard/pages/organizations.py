"""Creating, renaming and deleting organizations."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from config.api.errors import ApiError
from dashboard.access import MemberRequest, in_organization, person, reporting
from dashboard.accounts.fresh_login import fresh_to_change, fresh_to_open
from dashboard.html_forms.members import OrganizationForm, TypedNameForm
from dashboard.installation import may_make_organizations
from forms_app.sign_up import create_own_organization
from keys.invitations import invitations_to
from keys.models import Role
from keys.organizations import demand_second_step, rename_organization
from submissions.lifecycle.closing import end_organization


@in_organization(Role.ADMIN)
def organization(request: MemberRequest) -> HttpResponse:
    own = request.member.organization
    entered = OrganizationForm(request.POST or None, initial={"name": own.name})
    if request.method == "POST" and entered.is_valid():
        try:
            rename_organization(own, entered.cleaned_data["name"], by=request.member.user)
        except ValueError as error:
            entered.add_error("name", str(error))
        else:
            messages.success(request, gettext("Saved."))
            return redirect("dashboard:organization", own.slug)
    context = {"form": entered}
    return render(request, "dashboard/organization.html", context, status=400 if entered.errors else 200)


@in_organization(Role.OWNER)
@require_POST
@fresh_to_change
def second_step(request: MemberRequest) -> HttpResponse:
    own, demanded = request.member.organization, request.POST.get("demanded") == "1"
    must, may = gettext("Members enter with a second step only."), gettext("Members may enter without a second step.")
    with reporting(request, must if demanded else may):
        demand_second_step(own, demanded, by=request.member.user)
    return redirect("dashboard:organization", own.slug)


@in_organization(Role.OWNER)
@fresh_to_open
def end(request: MemberRequest) -> HttpResponse:
    """Ask for the name of the organization, then delete it with everything in it."""
    own = request.member.organization
    entered = TypedNameForm(
        request.POST or None,
        expected=own.name,
        label=gettext("Type the name of the organization"),
        refusal=gettext("That is not correct. Nothing was changed."),
    )
    if request.method == "POST" and entered.is_valid():
        try:
            end_organization(own, by=request.member.user)
        except ApiError as error:
            entered.add_error(None, error.message)
        else:
            messages.success(request, gettext("%(name)s and everything in it is erased.") % {"name": own.name})
            return redirect("dashboard:home")
    context = {"form": entered, "back": reverse("dashboard:organization", args=[own.slug])}
    return render(request, "dashboard/organization_end.html", context, status=400 if entered.errors else 200)


@login_required
def new_organization(request: HttpRequest) -> HttpResponse:
    user = person(request)
    if not may_make_organizations(user):
        return render(request, "dashboard/organization_by_operators.html", status=403)
    entered = OrganizationForm(request.POST or None)
    if request.method == "POST" and entered.is_valid():
        try:
            made = create_own_organization(name=entered.cleaned_data["name"], user=user)
        except ValueError as error:
            entered.add_error("name", str(error))
        else:
            messages.success(request, gettext("%(name)s is created. You are its owner.") % {"name": made.name})
            return redirect("dashboard:overview", made.slug)
    context = {"form": entered, "invitations": invitations_to(user)}
    return render(request, "dashboard/organization_new.html", context, status=400 if entered.errors else 200)


urlpatterns = [
    path("organization", organization, name="organization"),
    path("organization/second-step", second_step, name="organization-second-step"),
    path("organization/end", end, name="organization-end"),
]
