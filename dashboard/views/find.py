"""
Finding a page, a form, a destination, a key or a submission: the command palette, and a page for browsers without
scripts.

Everything found belongs to the organization in the address, and the member may open it.
"""

import dataclasses
from collections.abc import Iterator

from django import forms
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_safe

from config.api.errors import ApiError
from config.api.find_owned import path_id
from config.ids import Prefix
from dashboard.access import Member, MemberRequest, in_organization
from dashboard.accounts.time_zones import exact
from dashboard.design.menu import pages_for
from dashboard.limits.costs import expensive, is_typed_search, searches, while_typing
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


@in_organization()
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

    yield (
        gettext("Submissions"),
        [
            Found(
                gettext("Submission of %(moment)s") % {"moment": exact(one.created_at, "minute")},
                page("submission", one.public_id),
                "inbox",
                one.form.name,
            )
            for one in submission_with_id(member, text)
        ],
    )
    words = text.lower().split()
    yield (
        gettext("Pages"),
        [
            Found(str(one.label), page(one.name), one.icon)
            for one in pages_for(may_manage=member.may_manage)
            if all(word in f"{one.label} {one.words}".lower() for word in words)
        ],
    )
    yield (
        gettext("Forms"),
        [
            Found(form.name, page("form", form.public_id), "list-checks", form.get_status_display())
            for form in Form.objects.filter(**of, name__icontains=text).order_by("-id")[:MAX_OF_A_KIND]
        ],
    )
    if not text:
        return
    yield (
        gettext("Destinations"),
        [
            Found(str(one), page("destination", one.public_id), "webhook" if one.is_webhook else "send", one.scope)
            for one in Receiver.objects.filter(Q(name__icontains=text) | Q(url__icontains=text), **of)
            .select_related("form")
            .order_by("-id")[:MAX_OF_A_KIND]
        ],
    )
    if member.may_manage:
        yield (
            gettext("Access keys"),
            [
                Found(key.name, page("keys"), "key-round", key.hint)
                for key in AccessKey.objects.filter(**of, name__icontains=text).order_by("-id")[:MAX_OF_A_KIND]
            ],
        )


def submission_with_id(member: Member, text: str) -> list[Submission]:
    try:
        pk = path_id(Prefix.SUBMISSION, text.strip())
    except ApiError:
        return []
    return list(Submission.objects.select_related("form").filter(pk=pk, form__organization=member.organization))


urlpatterns = [path("find", find, name="find")]
