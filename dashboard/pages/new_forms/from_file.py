"""A new form from a file with its document: what will be made is shown first, or what is wrong, by line."""

import dataclasses
import json
from typing import Any

from allauth.core.exceptions import ReauthenticationRequired
from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from config.api.errors import ApiError, Unauthorized, ValidationFailed
from config.api.parsing import parse_object
from config.api.serializers import validate
from dashboard.access import MemberRequest, find_form, in_organization
from dashboard.accounts.ended_sessions import keeps_typed
from dashboard.accounts.fresh_login import is_fresh
from dashboard.pages.new_forms.inputs import DocumentForm
from dashboard.pages.new_forms.json_lines import line_of, lines_of
from forms_app.addresses import KeyTaken
from forms_app.document.bodies import NewFormDocument
from forms_app.document.by_key import Put, put_form
from forms_app.document.differences import differences
from forms_app.document.records import FOR_WEBHOOKS_WRITE, document_of
from forms_app.field_definitions import GENERAL_FIELDS
from forms_app.models import Form
from keys.models import Organization, Role
from submissions.hosted.controls import controls_of

CREATED = "create"


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in a document. `line`: None where it has none; `member`: "" for the whole text."""

    message: str
    member: str = ""
    line: int | None = None


def hidden_from(request: MemberRequest) -> tuple[str, ...]:
    """Return the members of a document that a member of the organization may neither see nor set: admins may."""
    return () if request.member.may_manage else FOR_WEBHOOKS_WRITE


@in_organization(of_forms=True)
@require_safe
def download(request: MemberRequest, form_id: str) -> HttpResponse:
    """Return the document of a form as a file."""
    form = find_form(request, form_id)
    answer = JsonResponse(
        document_of(form, hides=hidden_from(request)), json_dumps_params={"indent": 2, "ensure_ascii": False}
    )
    answer.headers["Content-Disposition"] = f'attachment; filename="{form.key}.json"'
    return answer


@keeps_typed
@in_organization(Role.MEMBER)
def new_from_file(request: MemberRequest) -> HttpResponse:
    """Show what a document makes, or its problems; create the form."""
    entered = DocumentForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"entered": entered}
    status = 200
    if request.method == "POST" and entered.is_valid():
        text, is_asked = entered.cleaned_data["document"], request.POST.get("do") == CREATED
        found = _put(request, text, is_dry=not is_asked)
        if isinstance(found, Put) and is_asked:
            messages.success(request, gettext("The form is created."))
            return redirect("dashboard:form", request.member.organization.slug, found.form.public_id)
        context["entered"] = DocumentForm({"document": text})
        if isinstance(found, Put):
            context |= _shown(request.member.organization, found)
        else:
            context["problems"], status = found, 400
    return render(request, "dashboard/form_new_file.html", context, status=400 if entered.errors else status)


def _put(request: MemberRequest, text: str, *, is_dry: bool) -> Put | list[Problem]:
    """Create the form of a document, or only try to; or return what is wrong with it."""
    try:
        given = parse_object(text.encode("utf-8", "surrogatepass"))
    except ApiError as error:
        return [Problem(error.message)]
    try:
        values = validate(NewFormDocument(data=given, context={"key": given.get("key")}))
        if not is_dry and values.get("notification_recipients") and request.member.may_manage and not is_fresh(request):
            raise ReauthenticationRequired  # as on the page Notifications
        key = values.pop("key") or ""
        return put_form(
            request.member.organization,
            key,
            {**values, **({"key": key} if key else {})},
            hides=hidden_from(request),
            precondition=_refuse_known,
            is_dry=is_dry,
        )
    except ValidationFailed as failure:
        lines = lines_of(text)
        return [Problem(one.message, one.field, line_of(lines, one.field)) for one in failure.details]
    except Unauthorized:
        message = gettext("Only admins set recipients. Leave out recipients and replyTo.")
        return [Problem(message, "recipients", line_of(lines_of(text), "recipients"))]
    except KeyTaken as error:
        return [Problem(error.message, "key", line_of(lines_of(text), "key"))]
    except ApiError as error:
        return [Problem(error.message)]


def _refuse_known(etag: str | None) -> None:
    if etag is not None:
        raise KeyTaken(gettext("Another form of this organization has this key. Choose another one."))


def _shown(organization: Organization, put: Put) -> dict[str, Any]:
    """Return the form as the page shows it: its fields as visitors see them, and what differs from the defaults."""
    blank = document_of(Form(organization=organization, key=""))
    settings = [
        (one.path, one.new if isinstance(one.new, str) else json.dumps(one.new, ensure_ascii=False))
        for one in differences(blank, put.document)
        if one.new is not None and not one.path.startswith("fields")
    ]
    return {
        "made": put.document,
        "settings": settings,
        "controls": controls_of(put.document["fields"] or GENERAL_FIELDS, {}),
    }


urlpatterns = [
    path("forms/new/file", new_from_file, name="form-new-file"),
    path("forms/<str:form_id>/document", download, name="form-document"),
]
