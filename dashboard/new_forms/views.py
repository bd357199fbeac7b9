"""Starting a form: from a starter, from the HTML of a page, or as a copy of another form."""

import dataclasses
import hashlib
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from config.api.errors import ApiError
from config.api.serializers import validate
from config.times import format_time
from dashboard.access import MemberRequest, find_form, in_organization
from dashboard.accounts.languages import language_now
from dashboard.new_forms.found_fields import FoundFields, fields_from
from dashboard.new_forms.inputs import NewFormForm, NewFromHtmlForm, PastedHtmlForm
from dashboard.new_forms.pasted_html import PastedPage, read_html
from dashboard.new_forms.starter_forms import STARTER_FORMS
from forms_app.actions import change_form, create_form, duplicate_form
from forms_app.field_definitions import GENERAL_FIELDS
from forms_app.models import Form
from forms_app.serializers import FormChanges, NewForm
from submissions.hosted.controls import Control, controls_of
from webhooks.models import Receiver


@in_organization()
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


@in_organization()
def new_from_html(request: MemberRequest) -> HttpResponse:
    """Show the fields of pasted HTML; create a draft with them."""
    entered = NewFromHtmlForm(request.POST or None)
    if request.method != "POST" or not entered.is_valid():
        return _show(request, None, entered)
    pasted = _read(request, entered)
    if not pasted.may_add:
        return _show(request, None, entered, pasted)
    name = entered.cleaned_data["name"] or pasted.page.title or gettext("Imported form")
    try:
        values = validate(NewForm(data={"name": name, "fields": pasted.found.fields}))
        form = create_form(organization=request.member.organization, language=language_now(), **values)
    except ApiError as error:
        entered.add_error(None, error.field_message)
        return _show(request, None, entered, pasted, refused=error.status)
    messages.success(request, gettext("The form is created, as a draft. Review its fields, then publish it."))
    return _to_builder(request, form)


@in_organization()
def add_from_html(request: MemberRequest, form_id: str) -> HttpResponse:
    """Show the fields of pasted HTML; add them to the form's own."""
    form = find_form(request, form_id)
    entered = PastedHtmlForm(request.POST or None)
    if request.method != "POST" or not entered.is_valid():
        return _show(request, form, entered)
    pasted = _read(request, entered, form)
    if not pasted.may_add:
        return _show(request, form, entered, pasted)
    try:
        fields = validate(FormChanges(data={"fields": [*form.fields, *pasted.found.fields]}))["fields"]
        change_form(form, fields=fields)
    except ApiError as error:
        entered.add_error(None, error.field_message)
        return _show(request, form, entered, pasted)
    messages.success(request, gettext("The fields are added and saved."))
    return _to_builder(request, form)


@dataclasses.dataclass(frozen=True, slots=True)
class _Pasted:
    """The reading of pasted HTML. Its `digest` comes back with the button that adds, as the form's state does."""

    page: PastedPage
    found: FoundFields
    digest: str
    is_other: bool  # than the page showed
    is_asked: bool

    @property
    def may_add(self) -> bool:
        return self.is_asked and not self.is_other and bool(self.found.fields)


def _read(request: MemberRequest, entered: PastedHtmlForm, form: Form | None = None) -> _Pasted:
    html = entered.cleaned_data["html"]
    page, digest = read_html(html), hashlib.sha256(html.encode("utf-8", "replace")).hexdigest()
    taken = {field["name"] for field in form.fields} if form else set()
    found = fields_from(page, taken=taken, may_require=not (form and form.is_default))
    now = (digest, format_time(form.updated_at) if form else "")
    is_asked = request.POST.get("do") == "add"
    shown = (request.POST.get("shown"), request.POST.get("seen"))
    return _Pasted(page, found, digest, is_asked and shown != now, is_asked)


def _show(
    request: MemberRequest,
    form: Form | None,
    entered: PastedHtmlForm,
    pasted: _Pasted | None = None,
    *,
    refused: int = 400,
) -> HttpResponse:
    context = {
        "form": form,
        "entered": entered,
        "seen": format_time(form.updated_at) if form else "",
        **({"page": pasted.page, "found": pasted.found, "shown": pasted.digest} if pasted else {}),
        "changed": pasted is not None and pasted.is_other,
        "controls": _controls("pasted", pasted.found.fields) if pasted and pasted.found.fields else [],
    }
    if pasted and pasted.found.fields:
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
