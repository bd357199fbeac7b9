"""Why was my POST refused? The refused submissions of the last 24 hours, and how to fix them."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from config.api.serializers import validate
from dashboard.access import MemberRequest, find_form, in_organization, reporting
from dashboard.html_forms.refusals import RefusalsFilterForm
from dashboard.refusal_advice import advise
from forms_app.actions import change_form
from forms_app.document.bodies import FormChanges
from submissions.refusals.recorder import recent_refusals

SHOWN = 200


@in_organization(of_forms=True)
@require_safe
def refused(request: MemberRequest) -> HttpResponse:
    """List refused submissions with the fix, similar ones of an hour grouped."""
    organization = request.member.organization
    filters = RefusalsFilterForm(request.GET, seen=request.member.forms)
    rows = filters.narrow(recent_refusals(organization))
    context = {
        "filters": filters,
        "rows": [{"refusal": row, "advice": advise(row)} for row in rows[:SHOWN]],
        "is_narrowed": any(request.GET.get(name) for name in ("form", "key")),
        "most": SHOWN,
    }
    return render(request, "dashboard/refused.html", context)


@in_organization(of_forms=True)
@require_POST
def allow_origin(request: MemberRequest, form_id: str) -> HttpResponse:
    form = find_form(request, form_id)
    if not form.allowed_origins:  # a list of one would exclude all other sites
        said = gettext("“%(name)s” already accepts submissions from every site.")
        messages.success(request, said % {"name": form.name})
        return redirect("dashboard:refused", request.member.organization.slug)
    origins = [*form.allowed_origins, request.POST.get("origin", "")]
    done = gettext("Pages of %(origin)s can send to “%(name)s” from now on.")
    with reporting(request, done % {"origin": origins[-1], "name": form.name}):
        change_form(form, **validate(FormChanges(data={"allowedOrigins": origins})))
    return redirect("dashboard:refused", request.member.organization.slug)


urlpatterns = [
    path("refused", refused, name="refused"),
    path("refused/allow/<str:form_id>", allow_origin, name="refused-allow"),
]
