"""
Access control of the dashboard: the user, one of their organizations, and their role in it.

Every page of an organization has its slug in the address, so that links can be shared and two tabs can show two
organizations. Other users get 404; members without the role get 403 and learn which role they need.
"""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django_htmx.middleware import HtmxDetails

from config.api.errors import ApiError, NotFound, RateLimited
from config.api.find_owned import path_id
from config.base.ids import Prefix
from dashboard.accounts.ended_sessions import after_login
from dashboard.accounts.time_zones import in_own_time
from dashboard.frame.limits.page import too_many
from dashboard.frame.limits.places import AtOnce, Replaced, place_for
from forms_app.models import Form
from keys.models import Membership, Organization, Role, User
from keys.organizations import has_second_step
from keys.seen_forms import SeenForms

SAFE = ("GET", "HEAD", "OPTIONS")  # methods that change nothing
RANK = {Role.VIEWER: 0, Role.MEMBER: 1, Role.ADMIN: 2, Role.OWNER: 3}
TEST_DATA = "test_data"  # in the session while its dashboard shows test data
SESSION_KEY = "organization"  # holds the slug of the last visited organization, which the dashboard opens with
P = ParamSpec("P")
M = TypeVar("M", bound=Model)


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A user in one of their organizations."""

    user: User
    organization: Organization
    role: Role
    forms: SeenForms

    @classmethod
    def of(cls, user: User, membership: Membership, *, test: bool = False) -> "Member":
        """Return the member; the organization of `membership` must be loaded."""
        return cls(user, membership.organization, Role(membership.role), SeenForms.of(membership, test=test))

    def is_at_least(self, role: Role) -> bool:
        """Return whether this user has at least the rights of `role`."""
        return RANK[self.role] >= RANK[role]

    @property
    def may_edit(self) -> bool:
        """Whether the user changes forms and submissions: everybody but viewers."""
        return self.is_at_least(Role.MEMBER)

    @property
    def may_manage(self) -> bool:
        """Whether the user manages keys, webhooks, members and settings: owners and admins (docs/contract.md 2)."""
        return self.is_at_least(Role.ADMIN)

    @property
    def is_limited(self) -> bool:
        """Whether the user sees chosen forms only, and nothing else of the organization."""
        return self.forms.are_chosen

    @property
    def may_make_forms(self) -> bool:
        return self.may_edit and not self.is_limited

    @property
    def is_owner(self) -> bool:
        """Only owners erase forms, change the role of owners, and delete the organization."""
        return self.role == Role.OWNER


class MemberRequest(HttpRequest):
    """A request that has passed `in_organization`."""

    member: Member
    htmx: HtmxDetails


MemberView = Callable[Concatenate[MemberRequest, P], HttpResponseBase]


def in_organization(
    role: Role = Role.VIEWER,
    *,
    to_change: Role = Role.MEMBER,
    of_forms: bool = False,
    while_suspended: bool = False,
) -> Callable[[MemberView[P]], Callable[..., HttpResponseBase]]:
    """
    Require membership of the organization in the address with at least `role`, and for a POST also `to_change`; set
    `request.member`, and the user's time zone.

    `of_forms`: everything on the page belongs to forms that the member sees, so it is for members of chosen forms too,
    who get 404 elsewhere.

    Removes the view's `slug` argument. Anonymous users are redirected to the login; other users get 404. In a suspended
    organization members can only read: a POST gets 403, unless the view has `while_suspended`.
    """

    def decorate(view: MemberView[P]) -> Callable[..., HttpResponseBase]:
        @after_login
        @in_own_time
        @wraps(view)
        def guarded(request: MemberRequest, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            request.member = find_member(request, slug)
            if request.member.is_limited and not of_forms:
                raise Http404
            needed = role if request.method in SAFE else max(role, to_change, key=RANK.__getitem__)
            if not request.member.is_at_least(needed):
                return not_allowed(request, needed)
            organization = request.member.organization
            if organization.second_step_required and not has_second_step(request.member.user):
                return send_to_second_step(request)
            if organization.is_suspended and request.method not in SAFE and not while_suspended:
                return render(request, "dashboard/suspended.html", status=403)
            try:
                with place_for(request, view, organization.pk):
                    return view(request, *args, **kwargs)
            except NotFound:  # it was deleted after the view had found it
                raise Http404 from None
            except AtOnce as refusal:
                return too_many(request, refusal)
            except Replaced:
                return HttpResponse(status=204)

        return guarded

    return decorate


def not_allowed(request: MemberRequest, needed: Role) -> HttpResponse:
    """Return the page that says which role is needed (403)."""
    return render(request, "dashboard/not_allowed.html", {"needed": needed.value}, status=403)


def send_to_second_step(request: MemberRequest) -> HttpResponse:
    name = request.member.organization.name
    messages.warning(
        request,
        gettext("%(name)s requires a passkey or an authenticator app. Add one, then come back.") % {"name": name},
    )
    return redirect("mfa_index")


def person(request: HttpRequest) -> User:
    """Return who is logged in. Raises PermissionDenied for nobody: such views have `login_required`."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def find_member(request: HttpRequest, slug: str) -> Member:
    """Return the user's membership of the organization. Raises Http404 for other organizations."""
    user = person(request)
    membership = user.memberships.select_related("organization").filter(organization__slug=slug).first()
    if membership is None:
        raise Http404
    if request.session.get(SESSION_KEY) != slug:
        request.session[SESSION_KEY] = slug
    return Member.of(user, membership, test=TEST_DATA in request.session)


def last_visited(request: HttpRequest) -> Member | None:
    """Return the user's membership of the organization that they visited last, else of their first; None without."""
    if not isinstance(request.user, User):
        return None
    memberships = request.user.memberships.select_related("organization").order_by("created_at")
    slug = request.session.get(SESSION_KEY, "")
    found = memberships.filter(organization__slug=slug).first() or memberships.first()
    return Member.of(request.user, found, test=TEST_DATA in request.session) if found else None


def member(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `member`, on pages of an organization."""
    current = getattr(request, "member", None)
    return {} if current is None else {"member": current}


def find_own(queryset: QuerySet[M], prefix: str, public_id: str, **of_organization: Any) -> M:
    """Return the object with this public id that matches `of_organization`. Raises Http404."""
    try:
        pk = path_id(prefix, public_id)
    except ApiError:
        raise Http404 from None
    return get_object_or_404(queryset, pk=pk, **of_organization)


def find_form(request: MemberRequest, form_id: str) -> Form:
    """Return a form that the member sees, with its submission count. Raises Http404."""
    forms = Form.objects.select_related("organization").with_submission_count()
    return find_own(request.member.forms.narrow(forms, "pk"), Prefix.FORM, form_id)


@contextmanager
def reporting(request: HttpRequest, done: str) -> Iterator[None]:
    """Show the message `done` if the body succeeds, or the message of its ApiError."""
    try:
        yield
    except ApiError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, done)


def busy(request: MemberRequest, refusal: RateLimited) -> HttpResponse:
    """Show that the organization has too much running at the same time (429)."""
    response = render(request, "dashboard/busy.html", {"refusal": refusal}, status=refusal.status)
    response.headers["Retry-After"] = refusal.headers["Retry-After"]
    return response
