"""
Finding a page, a form, a destination, a key or a submission: the command palette, and a page for browsers without
scripts.

Everything found belongs to the organization in the address, and the member may open it.
"""

import dataclasses
from collections.abc import Iterator
from contextlib import suppress

from django import forms
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_safe

from config.base.ids import Prefix
from dashboard.access import Member, MemberRequest, find_own, in_organization
from dashboard.accounts.time_zones import exact
from dashboard.frame.design.menu import pages_for
from dashboard.frame.limits.costs import expensive, is_typed_search, searches, while_typing
from forms_app.models import Form
from keys.models import AccessKey
from submissions.models import Submission
from webhooks.models import Receiver

MAX_QUERY, MAX_OF_A_KIND = 200, 6  # characters; results


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """One result: `detail` says more about it than its label."""

    label: str
    address: str
    icon: str
    detail: str = ""


class FindForm(forms.Form):
    q = forms.CharField(required=False, max_length=MAX_QUERY, label=gettext_lazy("Search"))


@in_organization(of_forms=True)
@require_safe
@while_typing("search", is_typed_search)
@expensive(searches)
def find(request: MemberRequest) -> HttpResponse:
    """Show the results for `q`, as a page or, for the palette, as the options of its list."""
    form = FindForm(request.GET)
    text = form.cleaned_data["q"] if form.is_valid() else ""
    groups = [(name, found) for name, found in results(request.member, text) if found] if form.is_valid() else []
    template = "dashboard/parts/found.html" if request.GET.get("part") else "dashboard/find.html"
    return render(request, template, {"groups": groups, "text": text, "form": form})


def results(member: Member, text: str) -> Iterator[tuple[str, list[Found]]]:
    """Yield `(kind, results)`: an id that was pasted first. Without a text: the pages, and the newest forms."""
    slug, of = member.organization.slug, {"organization": member.organization}

    def page(name: str, *ids: str) -> str:
        return reverse(f"dashboard:{name}", args=[slug, *ids])

    for one in submission_with_id(member, text):
        label = gettext("Submission of %(moment)s") % {"moment": exact(one.created_at, "minute")}
        yield gettext("Submissions"), [Found(label, page("submission", one.public_id), "inbox", one.form.name)]
    words = text.lower().split()
    pages = [
        Found(str(one.label), page(one.name), one.icon)
        for one in pages_for(member)
        if all(word in f"{one.label} {one.words}".lower() for word in words)
    ]
    yield gettext("Pages"), pages
    own_forms = [
        Found(form.name, page("form", form.public_id), "list-checks", form.get_status_display())
        for form in member.forms.narrow(Form.objects.filter(name__icontains=text), "pk").order_by("-id")[:MAX_OF_A_KIND]
    ]
    yield gettext("Forms"), own_forms
    if not text or member.is_limited:
        return
    receivers = Receiver.objects.filter(Q(name__icontains=text) | Q(url__icontains=text), **of).select_related("form")
    destinations = [
        Found(str(one), page("destination", one.public_id), "webhook" if one.is_webhook else "send", one.scope)
        for one in receivers.order_by("-id")[:MAX_OF_A_KIND]
    ]
    yield gettext("Destinations"), destinations
    if member.may_manage:
        keys = AccessKey.objects.filter(**of, name__icontains=text).order_by("-id")[:MAX_OF_A_KIND]
        yield gettext("Access keys"), [Found(key.name, page("keys"), "key-round", key.hint) for key in keys]


def submission_with_id(member: Member, text: str) -> list[Submission]:
    shown = Submission.objects.shown(member.forms.organization_id)
    rows = member.forms.narrow(shown.of_mode(test=member.forms.test).select_related("form"))
    with suppress(Http404):
        return [find_own(rows, Prefix.SUBMISSION, text.strip())]
    return []


urlpatterns = [path("find", find, name="find")]
