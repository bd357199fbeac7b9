"""Actions on selected submissions, or on all that the filters of the list select."""

import dataclasses
import uuid
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from config.api.errors import ApiError, RateLimited
from config.base.ids import Prefix, encode_id
from config.base.paging import whole_number
from dashboard.access import MemberRequest, busy, in_organization, not_allowed
from dashboard.frame.limits.costs import expensive, searches
from dashboard.html_forms.submissions import SubmissionsFilterForm, parse_ids
from dashboard.pages.exports import export_chosen, refuse_stale
from dashboard.pages.submissions.everything import take_step
from dashboard.pages.submissions.table import Table
from keys.models import Role
from submissions.exporting.files_zip import count_files
from submissions.files.records import load_files
from submissions.lifecycle.held import release_many
from submissions.lifecycle.spam_marks import delete_many, mark_many, mark_read
from submissions.models import Submission
from submissions.reading.listing import count_bounded
from submissions.reading.searches_at_once import searching

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAX_SELECTED = 100  # rows of one bulk action; a page shows fewer


@dataclasses.dataclass(frozen=True, slots=True)
class Action:
    """
    The change that a button makes to submissions of an organization, by their ids.

    `said`: returns the message about so many; `doing`: the heading while it goes on.
    """

    run: Callable[..., int]
    said: Callable[[int], str]
    doing: "StrOrPromise"


ACTIONS = {
    "spam": Action(
        partial(mark_many, spam=True),
        lambda changed: ngettext(
            "%(count)s submission is marked as spam. No notifications are sent.",
            "%(count)s submissions are marked as spam. No notifications are sent.",
            changed,
        ),
        gettext_lazy("Marking as spam"),
    ),
    "not-spam": Action(
        partial(mark_many, spam=False),
        lambda changed: ngettext(
            "%(count)s submission is marked as not spam and delivered like new ones.",
            "%(count)s submissions are marked as not spam and delivered like new ones.",
            changed,
        ),
        gettext_lazy("Marking as not spam"),
    ),
    "read": Action(
        mark_read,
        lambda changed: ngettext(
            "%(count)s submission is marked as read.", "%(count)s submissions are marked as read.", changed
        ),
        gettext_lazy("Marking as read"),
    ),
    "unread": Action(
        partial(mark_read, is_read=False),
        lambda changed: ngettext(
            "%(count)s submission is marked as unread.", "%(count)s submissions are marked as unread.", changed
        ),
        gettext_lazy("Marking as unread"),
    ),
    "release": Action(
        release_many,
        lambda changed: ngettext(
            "%(count)s submission is released and delivered like new ones.",
            "%(count)s submissions are released and delivered like new ones.",
            changed,
        ),
        gettext_lazy("Releasing"),
    ),
    "delete-now": Action(
        delete_many,
        lambda changed: ngettext(
            "%(count)s submission is deleted permanently.", "%(count)s submissions are deleted permanently.", changed
        ),
        gettext_lazy("Deleting"),
    ),
}
QUIET = {"read", "unread"}  # shown by the list itself


def is_long(request: HttpRequest) -> bool:
    """Return whether an action is an export, or the first step of one on everything that a search finds."""
    return request.POST.get("do") == "export" or (searches(request) and "seen" not in request.POST)


@in_organization(to_change=Role.VIEWER, of_forms=True)
@require_POST
@expensive(is_long)
def act_on_chosen(request: MemberRequest) -> HttpResponseBase:
    """Apply one action: mark, release, delete (after a confirmation), export. Viewers only export."""
    if request.POST.get("do") != "export" and not request.member.may_edit:
        return not_allowed(request, Role.MEMBER)
    member = request.member
    filters = SubmissionsFilterForm(request.POST, seen=member.forms)
    back = _back(request, filters)
    if refused := refuse_stale(request, filters, back):
        return refused
    try:
        ids = parse_ids(request.POST.getlist("id"), most=MAX_SELECTED)
        newest = parse_ids(request.POST.getlist("newest"), most=1)
    except ApiError:
        ids, newest = [], []
    do, own = request.POST.get("do", ""), member.forms.narrow(Submission.objects.of_mode(test=member.forms.test))
    # A row can be unticked after "select all": then the tick of "all" is out of sight, and must not count.
    is_whole_page = len(ids) >= whole_number(request.POST.get("rows", "")) and request.POST.get("all") == "on"
    if newest and (is_whole_page or "seen" in request.POST):
        return _act_on_all(request, filters, do, newest[0], back)
    if do not in {*ACTIONS, "delete", "export"} or not ids:
        messages.warning(request, gettext("Select submissions first, then choose an action."))
        return redirect(back)
    if do == "export":
        return export_chosen(request, own.filter(pk__in=ids))
    if do == "delete":
        rows = load_files(own.filter(pk__in=ids).select_related("form").order_by("-id"))
        files = sum(len(row.files) for row in rows)
        asked = {"table": Table.of(rows, None), "count": len(rows), "files": files}
        return _ask_to_delete(request, filters, asked, back)
    ids = list(own.filter(pk__in=ids).values_list("pk", flat=True))
    changed = ACTIONS[do].run(ids, organization_id=member.organization.pk)
    _report(request, do, changed)
    return redirect(back)


def _act_on_all(
    request: MemberRequest, filters: SubmissionsFilterForm, do: str, newest: uuid.UUID, back: str
) -> HttpResponse:
    """Apply an action to everything that the filters select, up to the newest id that the list showed."""
    organization = request.member.organization
    scope = filters.narrowing().scope(request.member.forms)
    if do == "export":
        return redirect(filters.address_at(reverse("dashboard:exports", args=[organization.slug])))
    try:
        with searching(organization.pk, "everything", running=gettext("searches or long actions")):
            if do == "delete":
                count, is_exact = count_bounded(scope)
                files, _ = count_files(organization.pk, scope.rows())
                asked = {"count": count, "is_exact": is_exact, "newest": encode_id(Prefix.SUBMISSION, newest)}
                return _ask_to_delete(request, filters, {**asked, "files": files}, back)
            if do not in ACTIONS:
                return redirect(back)
            run = partial(ACTIONS[do].run, organization_id=organization.pk)
            is_first = "seen" not in request.POST
            step = take_step(scope, run, before=uuid.UUID(int=min(newest.int + is_first, 2**128 - 1)))
    except RateLimited as refusal:
        return busy(request, refusal)
    # The counts of the steps before come from the page, and are only shown.
    seen, changed, total = (whole_number(request.POST.get(name, "")) for name in ("seen", "changed", "total"))
    seen, changed = step.seen + seen, step.changed + changed
    if step.before is None:
        _report(request, do, changed)
        return redirect(back)
    context = {
        "do": do,
        "doing": ACTIONS[do].doing,
        "back": back,
        "kept": filters.kept(),
        "seen": seen,
        "changed": changed,
        "total": max(total, seen),
        "newest": encode_id(Prefix.SUBMISSION, step.before),
    }
    return render(request, "dashboard/submissions_progress.html", context)


def _ask_to_delete(
    request: MemberRequest, filters: SubmissionsFilterForm, asked: dict[str, Any], back: str
) -> HttpResponse:
    return render(request, "dashboard/submissions_delete.html", {**asked, "back": back, "kept": filters.kept()})


def _report(request: MemberRequest, do: str, changed: int) -> None:
    if changed:
        messages.success(request, ACTIONS[do].said(changed) % {"count": intcomma(changed)})
    elif do == "release":
        messages.warning(request, gettext("None of these submissions is held."))
    elif do not in QUIET:
        messages.info(request, gettext("Nothing changed: these submissions were marked or deleted before."))


def _back(request: MemberRequest, filters: SubmissionsFilterForm) -> str:
    """Return the address of the list. Its query is parsed and rebuilt, so that it cannot lead to another site."""
    return filters.address_at(reverse("dashboard:submissions", args=[request.member.organization.slug]))


urlpatterns = [path("submissions/act", act_on_chosen, name="submissions-act")]
