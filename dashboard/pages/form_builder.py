"""The form builder: one page with the fields, saved or not, and a preview of the visitors' form."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from config.api.errors import ApiError, ValidationFailed
from config.base.times import format_time
from dashboard.access import MemberRequest, find_form, in_organization
from dashboard.accounts.ended_sessions import keeps_typed
from dashboard.frame.limits.costs import while_typing
from dashboard.html_forms.fields import FieldRow, change_rows, definitions, kept, rows_entered, rows_of
from dashboard.html_forms.row_form import NewFieldForm
from forms_app.actions import StaleForm, change_form, publish_form
from forms_app.field_definitions import GENERAL_FIELDS, fill_in_names
from forms_app.models import Form
from submissions.hosted.controls import Control, controls_of


@keeps_typed
@in_organization(of_forms=True)
def build(request: MemberRequest, form_id: str) -> HttpResponse:
    """Show, add, move, duplicate, remove, restore and save fields; save and publish them."""
    form = find_form(request, form_id)
    if request.method != "POST":
        return _show(request, form, rows_of(form.fields))
    rows, act = rows_entered(request.POST), request.POST.get("do", "save")
    if act not in ("save", "publish"):
        said = change_rows(rows, act, request.POST.get("new-type", ""))
        return _show(request, form, rows, said=said, is_changed=True)
    return _save(request, form, rows, publishing=act == "publish")


def _save(request: MemberRequest, form: Form, rows: list[FieldRow], *, publishing: bool) -> HttpResponse:
    try:
        with transaction.atomic():  # refused edits publish nothing
            change_form(form, seen=request.POST.get("seen", ""), fields=definitions(rows))
            if publishing:
                publish_form(form)
    except ValidationFailed as failure:
        problem = failure.message
        if any(row.errors for row in rows):
            unpublished = gettext("Not published yet: correct the marked fields below.")
            problem = unpublished if publishing else gettext("Not saved yet: correct the marked fields below.")
        return _show(request, form, rows, problem=problem, status=400, is_changed=True)
    except StaleForm as failure:
        form.refresh_from_db(fields=["updated_at"])
        return _show(request, form, rows, problem=failure.message, status=failure.status, is_changed=True)
    except ApiError as error:
        return _show(request, form, rows, problem=error.message, status=error.status, is_changed=True)
    if publishing:
        messages.success(request, gettext("Saved and published. It accepts submissions now: add it to a page."))
        return redirect("dashboard:form", request.member.organization.slug, form.public_id)
    messages.success(request, gettext("Saved. The form's page and the snippets show the new fields now."))
    return redirect("dashboard:form-build", request.member.organization.slug, form.public_id)


def _show(
    request: MemberRequest,
    form: Form,
    rows: list[FieldRow],
    *,
    problem: str = "",
    said: str = "",
    status: int = 200,
    is_changed: bool = False,
) -> HttpResponse:
    shown, is_sent = kept(rows), request.method == "POST" and status != StaleForm.status
    context: dict[str, Any] = {
        "form": form,
        "rows": rows,
        "field_count": len(shown),
        "ends": {"first": shown[0].key, "last": shown[-1].key} if shown else {},
        "new_field": NewFieldForm(prefix="new", auto_id="%s"),
        "controls": preview_controls(rows),
        "seen": request.POST.get("seen", "") if is_sent else format_time(form.updated_at),
        "problem": problem,
        "said": said,
        "is_changed": is_changed,
        "saved_names": {field["name"] for field in form.fields},
    }
    template = "dashboard/parts/builder.html" if request.htmx else "dashboard/form_build.html"
    return render(request, template, context, status=status)


def preview_controls(rows: list[FieldRow]) -> list[Control]:
    """Return the controls that visitors would see, as far as incomplete rows allow."""
    fields = [{**row.drawable(), "type": row.kind.name, "label": row.label or "…"} for row in kept(rows)]
    return controls_of(fill_in_names(fields) if fields else GENERAL_FIELDS, {})


@in_organization(of_forms=True)
@require_POST
@while_typing("preview")
def preview(request: MemberRequest, form_id: str) -> HttpResponse:
    """Show a preview of the entered fields, as a fragment of the page."""
    form = find_form(request, form_id)
    context = {"form": form, "controls": preview_controls(rows_entered(request.POST))}
    return render(request, "dashboard/parts/preview.html", context)


urlpatterns = [
    path("forms/<str:form_id>/build", build, name="form-build"),
    path("forms/<str:form_id>/preview", preview, name="form-preview"),
]
