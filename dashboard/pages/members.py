"""The members of an organization: roles, the forms that they see, invitations, leaving."""

import uuid
from collections.abc import Collection

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from config.api.errors import ApiError
from dashboard.access import MemberRequest, in_organization, reporting
from dashboard.accounts.fresh_login import fresh_to_change, fresh_to_open
from dashboard.html_forms.members import ALL, CHOSEN, InviteForm, SeenFormsForm, roles_for
from dashboard.invitation_mail import invite_by_mail
from forms_app.models import Form
from keys.choices import within_sentence
from keys.invitations import revoke_invitation
from keys.members import change_role, change_seen_forms, leave_organization, may_give, remove_member, sees_chosen_forms
from keys.models import Invitation, Membership, Organization, Role
from keys.organizations import logins_have_second_step
from keys.seen_forms import SeenForms


@in_organization(to_change=Role.ADMIN)
@fresh_to_change
def members(request: MemberRequest) -> HttpResponse:
    """List members and open invitations; owners and admins invite."""
    member = request.member
    entered = InviteForm(request.POST or None, inviter=member)
    if request.method == "POST" and entered.is_valid():
        try:
            role = Role(entered.cleaned_data["role"])
            _invite(request, entered.cleaned_data["email"], role, entered.form_ids())
        except ApiError as error:
            entered.add_error("email", error.message)
        else:
            return redirect("dashboard:members", member.organization.slug)
    rows = Membership.objects.filter(organization=member.organization).select_related("user")
    rows = rows.annotate(has_second_step=logins_have_second_step()).order_by("created_at", "pk")
    invited = Invitation.objects.filter(organization=member.organization).order_by("email")
    named = _form_names(member.organization)
    context = {
        "members": [
            {
                "membership": row,
                "forms": _named(row, named),
                "may_change": may_give(member.role, row.role),
                "may_choose": may_give(member.role, row.role) and sees_chosen_forms(row.role),
            }
            for row in rows
        ],
        "invitations": [
            {"invitation": row, "forms": _named(row, named), "may_send": may_give(member.role, row.role)}
            for row in invited
        ],
        "form": entered,
        "roles": [(role, Role(role).label) for role, _ in roles_for(member)],
    }
    return render(request, "dashboard/members.html", context, status=400 if entered.errors else 200)


def _form_names(organization: Organization) -> dict[str, str]:
    own = Form.objects.filter(organization=organization).order_by("name", "id")
    return {str(pk): name for pk, name in own.values_list("pk", "name")}


def _named(row: Membership | Invitation, names: dict[str, str]) -> list[str] | None:
    """Return the names of the forms that somebody is limited to, None for all. Erased ones have none."""
    return None if row.form_ids is None else [name for pk, name in names.items() if pk in row.form_ids]


def _invite(request: MemberRequest, email: str, role: Role, form_ids: Collection[uuid.UUID] | None) -> None:
    invitation = invite_by_mail(request.member.organization, email, role, by=request.member.user, form_ids=form_ids)
    said = gettext("An invitation is on its way to %(email)s. It is valid for 7 days.")
    messages.success(request, said % {"email": invitation.email})


@in_organization(Role.ADMIN)
@require_POST
@fresh_to_change
def change(request: MemberRequest, member_id: int) -> HttpResponse:
    membership = _find(request, member_id)
    role = request.POST.get("role", "")
    if role not in Role.values:
        raise Http404
    now = {"email": membership.user.email, "role": within_sentence(Role(role).label)}
    with reporting(request, gettext("%(email)s is now %(role)s.") % now):
        change_role(membership, Role(role), by=request.member.user)
    return redirect("dashboard:members", request.member.organization.slug)


@in_organization(Role.ADMIN)
@fresh_to_open
def choose_forms(request: MemberRequest, member_id: int) -> HttpResponse:
    """Ask which forms a viewer or member sees, and save it."""
    membership = _find(request, member_id)
    chosen = membership.form_ids
    initial = {"seen": ALL if chosen is None else CHOSEN, "forms": chosen or []}
    entered = SeenFormsForm(request.POST or None, organization=request.member.organization, initial=initial)
    if request.method == "POST" and entered.is_valid():
        done = gettext("Saved. %(email)s sees it with the next request.")
        with reporting(request, done % {"email": membership.user.email}):
            change_seen_forms(membership, entered.form_ids(), by=request.member.user)
        return redirect("dashboard:members", request.member.organization.slug)
    context = {"membership": membership, "entered": entered}
    return render(request, "dashboard/member_forms.html", context, status=400 if entered.errors else 200)


@in_organization(Role.ADMIN)
@fresh_to_open
def remove(request: MemberRequest, member_id: int) -> HttpResponse:
    membership = _find(request, member_id)
    if request.method != "POST":
        return render(request, "dashboard/member_remove.html", {"membership": membership, "back": _list(request)})
    done = gettext("%(email)s is no longer a member, starting with their next request.")
    with reporting(request, done % {"email": membership.user.email}):
        remove_member(membership, by=request.member.user)
    return redirect("dashboard:members", request.member.organization.slug)


@in_organization(to_change=Role.VIEWER, while_suspended=True, of_forms=True)
def leave(request: MemberRequest) -> HttpResponse:
    if request.method != "POST":
        return render(request, "dashboard/member_leave.html", {"back": reverse("dashboard:account")})
    try:
        leave_organization(request.member.organization, request.member.user)
    except ApiError as error:
        messages.error(request, error.message)
        return redirect("dashboard:members", request.member.organization.slug)
    messages.success(request, gettext("You have left %(name)s.") % {"name": request.member.organization.name})
    return redirect("dashboard:home")


@in_organization(Role.ADMIN)
@require_POST
@fresh_to_change
def resend(request: MemberRequest, invitation_id: int) -> HttpResponse:
    """Mail an invitation again with a new link; the old link stops working."""
    found = _find_invitation(request, invitation_id)
    try:
        _invite(request, found.email, Role(found.role), SeenForms.of(found).ids)
    except ApiError as error:
        messages.error(request, error.message)
    return redirect("dashboard:members", request.member.organization.slug)


@in_organization(Role.ADMIN)
@require_POST
def take_back(request: MemberRequest, invitation_id: int) -> HttpResponse:
    found = _find_invitation(request, invitation_id)
    with reporting(request, gettext("The invitation of %(email)s is taken back.") % {"email": found.email}):
        revoke_invitation(found, by=request.member.user)
    return redirect("dashboard:members", request.member.organization.slug)


def _list(request: MemberRequest) -> str:
    return reverse("dashboard:members", args=[request.member.organization.slug])


def _find(request: MemberRequest, member_id: int) -> Membership:
    rows = Membership.objects.select_related("user", "organization")
    return get_object_or_404(rows, pk=member_id, organization=request.member.organization)


def _find_invitation(request: MemberRequest, invitation_id: int) -> Invitation:
    return get_object_or_404(Invitation, pk=invitation_id, organization=request.member.organization)


urlpatterns = [
    path("members", members, name="members"),
    path("members/leave", leave, name="member-leave"),
    path("members/<int:member_id>/role", change, name="member-role"),
    path("members/<int:member_id>/forms", choose_forms, name="member-forms"),
    path("members/<int:member_id>/remove", remove, name="member-remove"),
    path("members/invitations/<int:invitation_id>/resend", resend, name="member-resend"),
    path("members/invitations/<int:invitation_id>/take-back", take_back, name="member-take-back"),
]
