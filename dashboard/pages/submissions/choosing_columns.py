"""The columns of a form's list: a user chooses and orders them, for themselves."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from dashboard.access import MemberRequest, in_organization
from dashboard.html_forms.submissions import SubmissionsFilterForm
from dashboard.pages.submissions.chosen_columns import choose_columns, moved
from dashboard.pages.submissions.table import MAX_OFFERED
from keys.models import Role

UP, DOWN = -1, 1


@in_organization(to_change=Role.VIEWER, while_suspended=True, of_forms=True)
@require_POST
def columns(request: MemberRequest) -> HttpResponse:
    """Store the ticked columns in the order of the page; without scripts, `up` and `down` move one of them."""
    filters = SubmissionsFilterForm(request.POST, seen=request.member.forms)
    form = filters.narrowing().form
    address = reverse("dashboard:submissions", args=[request.member.organization.slug])
    if form is None:
        messages.warning(request, gettext("Choose a form first: each has its own columns."))
        return redirect(address)
    order, ticked = request.POST.getlist("offered")[:MAX_OFFERED], set(request.POST.getlist("column"))
    for step, name in ((UP, "up"), (DOWN, "down")):
        order = moved(order, request.POST.get(name, ""), step)
    is_reset = "reset" in request.POST
    choose_columns(request.member.user, form, None if is_reset else [name for name in order if name in ticked])
    is_open = "up" in request.POST or "down" in request.POST
    return redirect(filters.address_at(address, columns="open" if is_open else ""))


urlpatterns = [path("submissions/columns", columns, name="submissions-columns")]
