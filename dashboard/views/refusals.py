"""Why was my POST refused? What was turned away in the last 24 hours, and what mends it."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import ApiError, ValidationFailed
from config.api.serializers import validate
from dashboard.access import PlacedRequest, find_form, in_organization
from dashboard.html_forms.refusals import RefusedFilterForm
from dashboard.refusal_advice import advise
from forms_app.actions import change_form
from forms_app.serializers import FormChanges
from submissions.refusals.recorder import recent_refusals

SHOWN = 200


@in_organization()
@require_safe
def refused(request: PlacedRequest) -> HttpResponse:
    """List refused submissions, alike ones of an hour together, with what to do."""
    organization = request.place.organization
    filters = RefusedFilterForm(request.GET, organization=organization)
    rows = filters.narrow(recent_refusals(organization))
    context = {
        "filters": filters,
        "rows": [{"refusal": row, "advice": advise(row)} for row in rows[:SHOWN]],
        "is_narrowed": any(request.GET.get(name) for name in ("form", "key")),
        "most": SHOWN,
    }
    return render(request, "dashboard/refused.html", context)


@in_organization()
@require_POST
def allow_origin(request: PlacedRequest, form_id: str) -> HttpResponse:
    """Put an origin that was refused on the form's list: the exact fix, one click away."""
    form = find_form(request, form_id)
    if not form.allowed_origins:  # a list of one would shut out all the others
        messages.success(request, f"“{form.name}” takes submissions from every site already.")
        return redirect("dashboard:refused", request.place.organization.slug)
    origins = [*form.allowed_origins, request.POST.get("origin", "")]
    try:
        change_form(form, **validate(FormChanges(data={"allowedOrigins": origins})))
    except ValidationFailed as failure:
        messages.error(request, failure.message)
    except ApiError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"Pages of {origins[-1]} may send to “{form.name}” from now on.")
    return redirect("dashboard:refused", request.place.organization.slug)


urlpatterns = [
    path("refused", refused, name="refused"),
    path("refused/allow/<str:form_id>", allow_origin, name="refused-allow"),
]
