"""Forms: the list, and the changes of a form's state."""

import dataclasses

from django.contrib import messages
from django.db.models import F
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import ApiError
from config.base.paging import NumberedPage, page_number
from dashboard.access import MemberRequest, find_form, in_organization, reporting
from dashboard.accounts.fresh_login import fresh_to_open
from dashboard.frame.changes.traffic import traffic_of_form
from dashboard.frame.changes.undo import offer_undo, undone
from dashboard.html_forms.members import TypedNameForm
from dashboard.pages.overview.sparks import with_sparks
from forms_app.actions import archive_form, publish_form, unpublish_form
from forms_app.models import Form
from keys.models import Role
from submissions.lifecycle.erasure import erase_form
from submissions.models import StoredFile

PAGE_SIZE = 25


@dataclasses.dataclass(frozen=True, slots=True)
class FormsPage(NumberedPage):
    total: int
    number: int
    total_is_exact = True

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // PAGE_SIZE))

    last_number = pages


@in_organization(of_forms=True)
@require_safe
def forms(request: MemberRequest) -> HttpResponse:
    archived = request.GET.get("status") == "archived"
    own = request.member.forms.narrow(Form.objects.with_submission_count(), "pk")
    in_use = own.exclude(status=Form.Status.ARCHIVED)
    shown = own.filter(status=Form.Status.ARCHIVED) if archived else in_use
    total = shown.count()
    farthest = FormsPage(total, 1).pages
    page = FormsPage(total, page_number(request.GET.get("page", ""), farthest=farthest))
    ordered = shown.order_by("-is_default", F("published_at").desc(nulls_last=True), "-id")
    start = (page.number - 1) * PAGE_SIZE
    context = {
        "forms": with_sparks(ordered[start : start + PAGE_SIZE]),
        "page": page,
        "archived": archived,
        "has_own": in_use.filter(is_default=False).exists(),
    }
    return render(request, "dashboard/forms.html", context)


@in_organization(of_forms=True)
@require_POST
def publish(request: MemberRequest, form_id: str) -> HttpResponse:
    found = find_form(request, form_id)
    is_undone = undone(request) is not None
    done = gettext("Published. It accepts submissions now: add it to a page.")
    with reporting(request, gettext("The form is published again.") if is_undone else done):
        publish_form(found, again=is_undone)
    return redirect(_page_of(request, found))


@in_organization(of_forms=True)
@require_POST
def unpublish(request: MemberRequest, form_id: str) -> HttpResponse:
    found = find_form(request, form_id)
    try:
        unpublish_form(found)
    except ApiError as error:
        messages.error(request, error.message)
    else:
        text = " ".join([gettext("The form is a draft again and refuses submissions."), traffic_of_form(found)])
        address = reverse("dashboard:form-publish", args=[request.member.organization.slug, found.public_id])
        offer_undo(request, text, address=address, later=gettext("Publish"), kept="")
    return redirect(_page_of(request, found))


@in_organization(Role.MEMBER, of_forms=True)
def archive(request: MemberRequest, form_id: str) -> HttpResponse:
    found = find_form(request, form_id)
    if request.method != "POST":
        context = {"form": found, "traffic": traffic_of_form(found), "back": _page_of(request, found)}
        return render(request, "dashboard/form_archive.html", context)
    done = gettext("“%(name)s” is archived. Its submissions are kept, under Archived.")
    with reporting(request, done % {"name": found.name}):
        archive_form(found)
    return redirect("dashboard:forms", request.member.organization.slug)


@in_organization(Role.OWNER)
@fresh_to_open
def erase(request: MemberRequest, form_id: str) -> HttpResponse:
    """Ask for the name of the form, then erase it with all its submissions."""
    found = find_form(request, form_id)
    entered = TypedNameForm(
        request.POST or None,
        expected=found.name,
        label=gettext("Type the name of the form"),
        refusal=gettext("That is not the name of the form. Nothing was erased."),
    )
    if request.method == "POST" and entered.is_valid():
        try:
            is_gone = erase_form(found, by=request.member.user)
        except ApiError as error:
            messages.error(request, error.message)
            return redirect(_page_of(request, found))
        gone = gettext("“%(form)s” is erased permanently.")
        going = gettext("“%(form)s” is being erased. It is large, so this takes up to an hour.")
        messages.success(request, (gone if is_gone else going) % {"form": found.name})
        return redirect("dashboard:forms", request.member.organization.slug)
    files = StoredFile.objects.used().filter(form_id=found.pk).count()
    context = {"form": found, "entered": entered, "files": files, "back": _page_of(request, found)}
    return render(request, "dashboard/form_erase.html", context, status=400 if entered.errors else 200)


def _page_of(request: MemberRequest, form: Form) -> str:
    return reverse("dashboard:form", args=[request.member.organization.slug, form.public_id])


urlpatterns = [
    path("forms", forms, name="forms"),
    path("forms/<str:form_id>/publish", publish, name="form-publish"),
    path("forms/<str:form_id>/unpublish", unpublish, name="form-unpublish"),
    path("forms/<str:form_id>/archive", archive, name="form-archive"),
    path("forms/<str:form_id>/erase", erase, name="form-erase"),
]
