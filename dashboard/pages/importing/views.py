"""Import old submissions into a form: a file, what its columns are, ten rows of preview, the progress, undo."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import ApiError
from config.base.ids import Prefix
from dashboard.access import MemberRequest, find_form, find_own, in_organization, reporting
from dashboard.accounts.time_zones import current_zone
from dashboard.frame.limits.costs import expensive
from dashboard.pages.importing.inputs import (
    USES,
    ImportColumnsForm,
    ImportUploadForm,
    columns_of,
    first_choice,
    names_of,
    read_choice,
    shown_columns,
)
from forms_app.models import Form
from keys.models import Role
from submissions.importing.files import Unreadable
from submissions.importing.mapping import Columns, NoTime
from submissions.importing.presets import PRESETS
from submissions.importing.rows import read_rows
from submissions.importing.store import oldest_kept
from submissions.importing.undo import UNDONE_WITHIN, undo_import
from submissions.importing.uploads import (
    PART_BYTES,
    first_records,
    import_next,
    keep_file,
    refused_csv,
    undoable,
)
from submissions.models import Import, ImportFile


@in_organization(Role.MEMBER, of_forms=True)
@expensive(lambda request: request.method == "POST")
def import_file(request: MemberRequest, form_id: str) -> HttpResponse:
    """Ask for a file, and show the imports that can be undone."""
    form = find_form(request, form_id)
    entered = ImportUploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and entered.is_valid():
        try:
            kept = _keep(form, entered.cleaned_data["file"])
        except Unreadable as error:
            entered.add_error("file", str(error))
        else:
            preset = entered.cleaned_data["preset"]
            names = names_of(first_records(kept), preset)
            kept.chosen = first_choice(preset, names, str(current_zone()), form.fields)
            kept.save(update_fields=["chosen"])
            return redirect("dashboard:form-import-file", request.member.organization.slug, form.public_id, kept.pk)
    context = {"form": form, "entered": entered, "imports": undoable(form, within=UNDONE_WITHIN)}
    return render(request, "dashboard/form_import.html", context, status=400 if entered.errors else 200)


def _keep(form: Form, file: "UploadedFile[Any]") -> ImportFile:
    if not isinstance(file, TemporaryUploadedFile):  # a small one, in memory
        on_disk = TemporaryUploadedFile(file.name or "", "", file.size or 0, None)
        for part in file.chunks():
            on_disk.write(part)
        on_disk.flush()
        file = on_disk
    name = file.name or ""
    place = Path(file.temporary_file_path())
    return keep_file(form, name, ImportUploadForm.format_of(name), place, file.chunks(PART_BYTES))


def _values(preset: str) -> str:
    return PRESETS[preset].values if preset in PRESETS else ""


@in_organization(Role.MEMBER, of_forms=True)
@expensive()
def import_columns(request: MemberRequest, form_id: str, file_id: uuid.UUID) -> HttpResponse:
    """Show what the columns are with ten rows of preview, and begin the import."""
    form, file = _find(request, form_id, file_id)
    records, values = first_records(file), _values(file.chosen["preset"])
    names = names_of(records, file.chosen["preset"])
    entered = ImportColumnsForm(request.POST or file.chosen)
    is_right = entered.is_valid()
    if request.method == "POST" and is_right and not file.read:
        file.chosen = read_choice(request.POST, file.chosen, names)
        file.save(update_fields=["chosen"])
        if request.POST.get("do") == "import" and "time" in file.chosen["uses"].values():
            return _step(request, form, file)
    has_time = "time" in file.chosen["uses"].values()
    context = {
        "form": form,
        "file": file,
        "entered": entered,
        "uses": USES,
        "columns": shown_columns(file.chosen, names, records, values),
        "has_time": has_time,
        "rows": list(_preview(form, columns_of(file.chosen), records)) if is_right and has_time else [],
    }
    template = "dashboard/form_import_progress.html" if file.read else "dashboard/form_import_columns.html"
    return render(request, template, context, status=200 if is_right else 400)


def _preview(form: Form, columns: Columns, records: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows as they would come in, or their problems."""
    for record in records:
        try:
            row = columns.row(record)
        except NoTime as error:
            yield {"problem": str(error)}
            continue
        rows, problems = read_rows([row], oldest=oldest_kept(form))
        yield {"row": rows[0] if rows else None, "problem": problems[0].message if problems else ""}


@in_organization(Role.MEMBER, of_forms=True)
@require_POST
@expensive()
def import_step(request: MemberRequest, form_id: str, file_id: uuid.UUID) -> HttpResponse:
    """Import the next rows, for some seconds, and show the progress."""
    return _step(request, *_find(request, form_id, file_id))


def _step(request: MemberRequest, form: Form, file: ImportFile) -> HttpResponse:
    try:
        if not file.is_done:
            import_next(file, columns_of(file.chosen), source=file.chosen["preset"] or "file")
    except (ApiError, Unreadable) as error:
        if request.htmx:  # which would follow the redirect
            context = {"form": form, "file": file, "problem": str(error)}
            return render(request, "dashboard/parts/import_progress.html", context)
        messages.error(request, str(error))
        return redirect("dashboard:form-import-file", request.member.organization.slug, form.public_id, file.pk)
    file.refresh_from_db()
    if request.htmx:
        return render(request, "dashboard/parts/import_progress.html", {"form": form, "file": file})
    return redirect("dashboard:form-import-file", request.member.organization.slug, form.public_id, file.pk)


@in_organization(Role.MEMBER, of_forms=True)
@require_safe
@expensive()
def import_refused(request: MemberRequest, form_id: str, file_id: uuid.UUID) -> HttpResponseBase:
    """Return the refused rows as CSV, with what is wrong in each."""
    _, file = _find(request, form_id, file_id)
    names = list(next(iter(first_records(file)), {}))
    response = StreamingHttpResponse(refused_csv(file, names), content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = 'attachment; filename="refused.csv"'
    return response


@in_organization(Role.MEMBER, of_forms=True)
@require_POST
def import_undo(request: MemberRequest, form_id: str, import_id: str) -> HttpResponse:
    """Undo an import into the form."""
    form = find_form(request, form_id)
    batch = find_own(Import.objects.filter(form=form), Prefix.IMPORT, import_id)
    with reporting(request, gettext("The import is undone.")):
        undo_import(batch)
    return redirect("dashboard:form-import", request.member.organization.slug, form.public_id)


def _find(request: MemberRequest, form_id: str, file_id: uuid.UUID) -> tuple[Form, ImportFile]:
    form = find_form(request, form_id)
    file = ImportFile.objects.filter(form=form, pk=file_id).select_related("form", "imported_in").first()
    if file is None:
        raise Http404
    return form, file


urlpatterns = [
    path("forms/<str:form_id>/import", import_file, name="form-import"),
    path("forms/<str:form_id>/import/<uuid:file_id>", import_columns, name="form-import-file"),
    path("forms/<str:form_id>/import/<uuid:file_id>/next", import_step, name="form-import-next"),
    path("forms/<str:form_id>/import/<uuid:file_id>/refused", import_refused, name="form-import-refused"),
    path("forms/<str:form_id>/imports/<str:import_id>/undo", import_undo, name="form-import-undo"),
]
