"""The switch between live and test data. It holds for the session, in every organization, until it ends."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from dashboard.access import TEST_DATA, MemberRequest, in_organization
from keys.models import Role

MAX_ADDRESS = 2000  # characters


@in_organization(to_change=Role.VIEWER, while_suspended=True, of_forms=True)
@require_POST
def switch(request: MemberRequest) -> HttpResponse:
    """Show test data if `test` is `on`, else live data, and go back to the page `next` of this service."""
    if request.POST.get("test") == "on":
        request.session[TEST_DATA] = True
    else:
        request.session.pop(TEST_DATA, None)
    there = request.POST.get("next", "")[:MAX_ADDRESS]
    is_ours = there.startswith("/") and url_has_allowed_host_and_scheme(there, allowed_hosts=None)
    return redirect(there if is_ours else reverse("dashboard:submissions", args=[request.member.organization.slug]))


urlpatterns = [path("test-data", switch, name="test-data")]
