"""The page of the first person of an installation (docs/contract.md 2.50)."""

from allauth.account.utils import complete_signup
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from config.api.ratelimit import count_address
from dashboard.accounts.languages import language_now
from dashboard.frame.limits.page import too_many
from dashboard.html_forms.account import SetupForm
from dashboard.installation import AlreadySetUp, has_people, is_setup_token, set_up


@csrf_exempt  # every step asks for the token, which no other site knows; without a Referer browsers send no Origin
@never_cache
@sensitive_post_parameters("token", "password1")
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    """Ask for the token, then for organization and account; then the person is logged in."""
    if has_people():
        raise Http404
    token = request.POST.get("token") or request.GET.get("token", "")
    response = _entered(request, token) if is_setup_token(token) else _asked(request, token)
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _asked(request: HttpRequest, token: str) -> HttpResponse:
    if token and (usage := count_address(request)).is_over:
        return too_many(request, usage.refusal())
    return render(request, "dashboard/setup.html", {"is_wrong": bool(token)}, status=403 if token else 200)


def _entered(request: HttpRequest, token: str) -> HttpResponse:
    form = SetupForm(request.POST if "organization" in request.POST else None)
    if form.is_valid():
        values = form.cleaned_data
        try:
            user = set_up(
                organization=values["organization"],
                name=values["name"],
                email=values["email"],
                password=values.get("password1"),
                language=language_now(),
            )
        except AlreadySetUp:
            messages.warning(request, gettext("Somebody else has set up this installation. Nothing was created."))
            return redirect("account_login")
        messages.success(request, gettext("Your installation is ready. You are its operator."))
        response: HttpResponse = complete_signup(request, user, None, reverse("dashboard:home"))
        return response
    context = {"form": form, "token": token}
    return render(request, "dashboard/setup.html", context, status=400 if form.errors else 200)


urlpatterns = [path("", setup, name="setup")]
