"""The list of submissions, with one of them next to it on wide screens, and the token of its live stream."""

import datetime as dt
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import pgettext
from django.views.decorators.http import require_safe

from config.api.errors import ApiError, RateLimited
from config.base.ids import Prefix, encode_id, first_id_of
from config.base.paging import page_number
from config.base.times import now
from dashboard.access import MemberRequest, busy, in_organization
from dashboard.frame.limits.costs import expensive, is_typed_search, searches, while_typing
from dashboard.html_forms.submissions import SubmissionsFilterForm, parse_ids
from dashboard.pages.submissions.chosen_columns import chosen_columns
from dashboard.pages.submissions.one import find_opened, shown
from dashboard.pages.submissions.table import Table
from submissions.live.tokens import live_token
from submissions.models import Submission
from submissions.reading.listing import Page, Scope, count_unread, find_page, has_unconfirmed, rows_of
from submissions.reading.searches_at_once import searching

PAGE_SIZE = 25
MOST_UNREAD = 99  # counted; beyond, the tab says "99+"
SEEN_BEFORE = dt.timedelta(seconds=5)  # a row with an older id is committed when the list is read
FARTHEST_PAGE = 10**9
MAX_NEW_ROWS = 25  # that a live list asks for with one request


@in_organization(of_forms=True)
@require_safe
@while_typing("search", is_typed_search)
@expensive(searches)
def submissions(request: MemberRequest) -> HttpResponse:
    organization = request.member.organization
    filters = SubmissionsFilterForm(request.GET, seen=request.member.forms)
    narrowing = filters.narrowing()
    if "row" in request.GET:
        return _new_rows(request, filters)
    if request.htmx and _form_of(request.htmx.current_url) != request.GET.get("form", ""):
        # The pages of a form have their own frame, and the list of another one is not a part of this page.
        return HttpResponse(headers={"HX-Redirect": request.get_full_path()})
    number = page_number(request.GET.get("page", ""), farthest=FARTHEST_PAGE)
    scope = narrowing.scope(request.member.forms)
    try:
        with searching(organization.pk, scope.text):
            page = find_page(scope, number=number, size=PAGE_SIZE)
    except RateLimited as refusal:
        return busy(request, refusal)
    opened = find_opened(request, request.GET.get("open", ""))
    context = {
        "filters": filters,
        "chips": list(filters.chips()),
        "narrowing": narrowing,
        "form": narrowing.form,
        "tabs": _tabs(filters, scope),
        "page": page,
        "query": filters.query(),
        "kept": filters.kept(),
        "table": Table.of(page.rows, narrowing.form, chosen_columns(request.member.user, narrowing.form)),
        "opened": opened and opened.pk,
        "live": narrowing.is_plain and page.number == 1 and not scope.test,
        "seen": _seen(page.rows),
        "newest": _newest(page),
        "frame": "dashboard/form_page.html" if narrowing.form else "dashboard/page.html",
    }
    return render(request, "dashboard/submissions.html", context | (shown(request, opened) if opened else {}))


def _form_of(address: str | None) -> str:
    return parse_qs(urlsplit(address or "").query).get("form", [""])[0]


def _tabs(filters: SubmissionsFilterForm, scope: Scope) -> list[dict[str, Any]]:
    """Return the tabs; a tab keeps the other filters."""
    found = filters.narrowing()
    whole = Scope(scope.organization_id, scope.form_id, form_ids=scope.form_ids, test=scope.test)
    count = count_unread(whole, MOST_UNREAD + 1)
    unread = f"{MOST_UNREAD}+" if count > MOST_UNREAD else str(count)
    tabs: list[tuple[str, dict[str, str], bool, str]] = [
        (pgettext("a tab of submissions", "Inbox"), {}, found.spam is False and not found.unconfirmed, ""),
        (pgettext("a tab of submissions", "Unread"), {"unread": "on"}, found.unread, unread),
        (pgettext("a tab of submissions", "Spam"), {"spam": "true"}, found.spam is True, ""),
        (pgettext("a tab of submissions", "All"), {"spam": "all"}, found.spam is None, ""),
    ]
    if found.unconfirmed or has_unconfirmed(whole):
        label = pgettext("a tab of submissions", "Unconfirmed")
        tabs.append((label, {"unconfirmed": "on"}, found.unconfirmed, ""))
    plain = {"spam": "", "unread": "", "unconfirmed": ""}
    return [
        {"label": label, "query": filters.query(**{**plain, **chosen}), "is_current": is_current, "unread": unread}
        for label, chosen, is_current, unread in tabs
    ]


def _seen(rows: list[Submission]) -> str:
    """Return the id after which the live stream continues: older rows are in the list, or on an older page."""
    recent = first_id_of(now() - SEEN_BEFORE)
    return encode_id(Prefix.SUBMISSION, max([recent, *(row.pk for row in rows[:1])]))


def _newest(page: Page) -> str:
    """Return the newest id that an action on the whole list reaches: arriving submissions are not in it."""
    shown_first = page.rows[0].pk if page.rows and page.number == 1 else first_id_of(now())
    return encode_id(Prefix.SUBMISSION, shown_first)


def _new_rows(request: MemberRequest, filters: SubmissionsFilterForm) -> HttpResponse:
    """Return rows that the live stream has announced, as the list shows them, in the columns that it has."""
    form = filters.narrowing().form
    try:
        ids = parse_ids(request.GET.getlist("row"), most=MAX_NEW_ROWS)
    except ApiError:
        ids = []
    own = request.member.forms.narrow(Submission.objects.filter(pk__in=ids).of_mode(test=False))  # as the stream
    own = own.filter(form=form) if form else own
    rows = rows_of(list(own.values_list("pk", flat=True)), own.db)
    table = Table.of(rows, form, request.GET.getlist("column"))
    context = {"table": table, "form": form, "query": filters.query(), "fresh": True}
    return render(request, "dashboard/parts/submission_rows.html", context)


@in_organization(of_forms=True)
@require_safe
def live(request: MemberRequest) -> HttpResponse:
    """Return the address of the live stream with a short-lived token. The stream checks them again."""
    organization = request.member.organization
    narrowing = SubmissionsFilterForm(request.GET, seen=request.member.forms).narrowing()
    form = narrowing.form.pk if narrowing.form else None
    token = live_token(organization.pk, form, request.member.user.pk, request.session.session_key or "")
    return JsonResponse({"url": f"{settings.EVENTS_URL}/events?{urlencode({'token': token})}"})


urlpatterns = [
    path("submissions", submissions, name="submissions"),
    path("submissions/live", live, name="submissions-live"),
]
