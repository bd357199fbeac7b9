"""Starting a form: from a starter, from the HTML of a page, or as a copy of another form."""

import dataclasses
import hashlib
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from config.api.errors import ApiError
from config.api.serializers import validate
from config.base.times import format_time
from dashboard.access import MemberRequest, find_form, in_organization
from dashboard.accounts.languages import language_now
from dashboard.pages.new_forms.found_fields import fields_from
from dashboard.pages.new_forms.inputs import NewFormForm, NewFromHtmlForm, PastedHtmlForm
from dashboard.pages.new_forms.pasted_html import PastedPage, read_html
from dashboard.pages.new_forms.starter_forms import STARTER_FORMS
from forms_app.actions import change_form, create_form, duplicate_form
from forms_app.document.bodies import FormChanges, NewForm
from forms_app.field_definitions import GENERAL_FIELDS
from forms_app.models import Form
from keys.models import Role
from submissions.hosted.controls import Control, controls_of
from webhooks.models import Receiver


@in_organization(Role.MEMBER)
def new_form(request: MemberRequest) -> HttpResponse:
    """Show the starter forms; create one as a draft, and continue with its fields."""
    entered, refused = NewFormForm(request.POST or None), 400
    if request.method == "POST" and entered.is_valid():
        try:
            form = create_form(organization=request.member.organization, language=language_now(), **entered.values())
        except ApiError as error:
            entered.add_error("name", error.field_message)
            refused = error.status
        else:
            messages.success(request, gettext("The form is created, as a draft. Review its fields, then publish it."))
            return _to_builder(request, form)
    starters = [(key, one, _controls(key, one.fields)) for key, one in STARTER_FORMS.items()]
    context = {"entered": entered, "starters": starters}
    return render(request, "dashboard/form_new.html", context, status=refused if entered.errors else 200)


def _controls(prefix: str, fields: Any) -> list[Control]:
    """Return the controls of a preview, with ids that are unique on a page of several."""
    return [dataclasses.replace(one, id=f"{prefix}-{one.id}") for one in controls_of(fields or GENERAL_FIELDS, {})]


@in_organization(Role.MEMBER)
def new_from_html(request: MemberRequest) -> HttpResponse:
    """Show the fields of pasted HTML; create a draft with them."""
    entered = NewFromHtmlForm(request.POST or None)

    def create(page: PastedPage, fields: list[dict[str, Any]]) -> Form:
        name = entered.cleaned_data["name"] or page.title or gettext("Imported form")
        values = validate(NewForm(data={"name": name, "fields": fields}))
        return create_form(organization=request.member.organization, language=language_now(), **values)

    saved = gettext("The form is created, as a draft. Review its fields, then publish it.")
    return _from_html(request, None, entered, create, saved)


@in_organization(Role.MEMBER, of_forms=True)
def add_from_html(request: MemberRequest, form_id: str) -> HttpResponse:
    """Show the fields of pasted HTML; add them to the form's own."""
    form = find_form(request, form_id)

    def add(_page: PastedPage, fields: list[dict[str, Any]]) -> Form:
        change_form(form, fields=validate(FormChanges(data={"fields": [*form.fields, *fields]}))["fields"])
        return form

    entered = PastedHtmlForm(request.POST or None)
    return _from_html(request, form, entered, add, gettext("The fields are added and saved."))


def _from_html(
    request: MemberRequest,
    form: Form | None,
    entered: PastedHtmlForm,
    save: Callable[[PastedPage, list[dict[str, Any]]], Form],
    saved: str,
) -> HttpResponse:
    """Show the fields of pasted HTML, and save them when the page that has shown them asks for it."""
    seen = format_time(form.updated_at) if form else ""
    context: dict[str, Any] = {"form": form, "entered": entered, "seen": seen}
    refused = 400
    if request.method == "POST" and entered.is_valid():
        html = entered.cleaned_data["html"]
        page, digest = read_html(html), hashlib.sha256(html.encode("utf-8", "replace")).hexdigest()
        taken = {field["name"] for field in form.fields} if form else set()
        found = fields_from(page, taken=taken, may_require=not (form and form.is_default))
        is_asked = request.POST.get("do") == "add"
        is_other = is_asked and (request.POST.get("shown"), request.POST.get("seen")) != (digest, seen)
        if found.fields and is_asked and not is_other:
            try:
                form_saved = save(page, found.fields)
            except ApiError as error:
                entered.add_error(None, error.field_message)
                refused = 400 if form else error.status
            else:
                messages.success(request, saved)
                return _to_builder(request, form_saved)
        context |= {"page": page, "found": found, "shown": digest, "changed": is_other}
        if found.fields:
            context["controls"] = _controls("pasted", found.fields)
            entered.fields["html"].widget.attrs["rows"] = 6  # its fields are what the page is about now
    template = "dashboard/form_html.html" if form else "dashboard/form_new_html.html"
    return render(request, template, context, status=refused if entered.errors else 200)


@in_organization()
@require_POST
def duplicate(request: MemberRequest, form_id: str) -> HttpResponse:
    """Create a draft with the fields and settings of a form, and say what it does not have."""
    form = find_form(request, form_id)
    try:
        copy = duplicate_form(form)
    except ApiError as error:
        messages.error(request, error.message)
        return redirect("dashboard:form", request.member.organization.slug, form.public_id)
    said = gettext("“%(name)s” is a draft with the same fields and settings.") % {"name": copy.name}
    messages.success(request, said)
    _say_not_copied(request, form, copy)
    return _to_builder(request, copy)


def _say_not_copied(request: MemberRequest, form: Form, copy: Form) -> None:
    if Receiver.objects.filter(form=form).exists():
        said = gettext("Its destinations are not copied. Create new ones for this form if it needs them.")
        messages.warning(request, said)
    if len(copy.notification_recipients) < len(form.notification_recipients):
        said = gettext(
            "Only recipients who are members are copied. Others agreed to the mails of the first form only. "
            "Add them under Notifications, and they are asked."
        )
        messages.warning(request, said)


def _to_builder(request: MemberRequest, form: Form) -> HttpResponse:
    return redirect("dashboard:form-build", request.member.organization.slug, form.public_id)


urlpatterns = [
    path("forms/new", new_form, name="form-new"),
    path("forms/new/html", new_from_html, name="form-new-html"),
    path("forms/<str:form_id>/html", add_from_html, name="form-html"),
    path("forms/<str:form_id>/duplicate", duplicate, name="form-duplicate"),
]
