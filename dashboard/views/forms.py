"""Forms: the list, a new one, one form's first page, and what moves it between its states."""

from django.contrib import messages
from django.db.models import F
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import ApiError
from dashboard.access import PlacedRequest, find_form, in_organization, telling
from dashboard.html_forms.forms import ErasureForm, NewFormForm
from forms_app import snippets
from forms_app.actions import archive_form, create_form, publish_form, unpublish_form
from forms_app.models import Form
from keys.models import Role
from submissions.lifecycle.erasure import erase_form
from webhooks.models import Webhook


@in_organization()
@require_safe
def forms(request: PlacedRequest) -> HttpResponse:
    """List the forms in use, or the archived ones."""
    archived = request.GET.get("status") == "archived"
    own = Form.objects.filter(organization=request.place.organization).with_submission_count()
    in_use = own.exclude(status=Form.Status.ARCHIVED)
    shown = own.filter(status=Form.Status.ARCHIVED) if archived else in_use
    context = {
        "forms": shown.order_by("-is_default", F("published_at").desc(nulls_last=True), "-id"),
        "archived": archived,
        "has_own": in_use.filter(is_default=False).exists(),
    }
    return render(request, "dashboard/forms.html", context)


@in_organization()
def new_form(request: PlacedRequest) -> HttpResponse:
    """Ask for a name and something to begin with, make a draft, and go on to its fields."""
    entered = NewFormForm(request.POST or None)
    if request.method == "POST" and entered.is_valid():
        try:
            form = create_form(organization=request.place.organization, **entered.values())
        except ApiError as error:
            entered.add_error("name", error.field_message)
        else:
            messages.success(request, "The form is made, as a draft. Look over its fields, then publish it.")
            return redirect("dashboard:form-build", request.place.organization.slug, form.public_id)
    return render(request, "dashboard/form_new.html", {"form": entered}, status=400 if entered.errors else 200)


@in_organization()
@require_safe
def form(request: PlacedRequest, form_id: str) -> HttpResponse:
    """Show where a form stands, and what to paste."""
    found = find_form(request, form_id)
    key = snippets.publishable_key(request.place.organization)
    context = {
        "form": found,
        "has_key": bool(key),
        "snippets": _snippets(found, key) if key else [],
        "webhooks": Webhook.objects.filter(form=found).count(),
    }
    return render(request, "dashboard/form.html", context)


def _snippets(form: Form, key: str) -> list[tuple[str, str, str]]:
    """Return `(name, advice, text)` of everything that can be pasted."""
    pinned = "This very version, checked by its hash (SRI). It gets no fixes until you paste a newer one."
    return [
        ("Script tag", "Before </body>. It takes care of every form on the page.", snippets.script_tag(form, key)),
        ("Plain HTML", "Works without any script.", snippets.plain_html(form)),
        ("fetch", "From your own JavaScript.", snippets.fetch_call(form, key)),
        ("curl", "From a shell.", snippets.curl_command(form, key)),
        ("Script tag, pinned", pinned, snippets.script_tag(form, key, pinned=True)),
    ]


@in_organization()
@require_POST
def publish(request: PlacedRequest, form_id: str) -> HttpResponse:
    """Let it take submissions."""
    found = find_form(request, form_id)
    with telling(request, "Published. It takes submissions now: put it on a page."):
        publish_form(found)
    return redirect("dashboard:form", request.place.organization.slug, found.public_id)


@in_organization()
@require_POST
def unpublish(request: PlacedRequest, form_id: str) -> HttpResponse:
    """Make it a draft again."""
    found = find_form(request, form_id)
    with telling(request, "It is a draft again, and refuses submissions until it is published."):
        unpublish_form(found)
    return redirect("dashboard:form", request.place.organization.slug, found.public_id)


@in_organization()
def archive(request: PlacedRequest, form_id: str) -> HttpResponse:
    """Ask, then take it out of use."""
    found = find_form(request, form_id)
    if request.method != "POST":
        return render(request, "dashboard/form_archive.html", {"form": found})
    with telling(request, f"“{found.name}” is archived. Its submissions stay, under Archived."):
        archive_form(found)
    return redirect("dashboard:forms", request.place.organization.slug)


@in_organization(Role.OWNER)
def erase(request: PlacedRequest, form_id: str) -> HttpResponse:
    """Ask for the form's name, then erase it with everything that it received."""
    found = find_form(request, form_id)
    entered = ErasureForm(request.POST or None, name=found.name)
    if request.method == "POST" and entered.is_valid():
        try:
            is_gone = erase_form(found, by=request.place.user)
        except ApiError as error:
            messages.error(request, error.message)
            return redirect("dashboard:form", request.place.organization.slug, found.public_id)
        when = "is erased for good" if is_gone else "is being erased. It is large, so it takes up to an hour"
        messages.success(request, f"“{found.name}” {when}.")
        return redirect("dashboard:forms", request.place.organization.slug)
    context = {"form": found, "entered": entered}
    return render(request, "dashboard/form_erase.html", context, status=400 if entered.errors else 200)


urlpatterns = [
    path("forms", forms, name="forms"),
    path("forms/new", new_form, name="form-new"),
    path("forms/<str:form_id>", form, name="form"),
    path("forms/<str:form_id>/publish", publish, name="form-publish"),
    path("forms/<str:form_id>/unpublish", unpublish, name="form-unpublish"),
    path("forms/<str:form_id>/archive", archive, name="form-archive"),
    path("forms/<str:form_id>/erase", erase, name="form-erase"),
]
