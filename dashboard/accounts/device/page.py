"""`/account/device`: where a person lets a program in, by its code (docs/contract.md 3.16)."""

from typing import cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from dashboard.access import person
from dashboard.accounts.device.endpoints import count_guess, refuse_guesses
from dashboard.accounts.device.inputs import DeviceCodeForm, OrganizationForm
from dashboard.accounts.ended_sessions import after_login
from dashboard.accounts.fresh_login import fresh_to_open
from dashboard.frame.limits.page import too_many
from keys.devices.logins import decide, find_undecided, letters_of, organizations_to_let_in, shown
from keys.models import DeviceLogin, Organization, Permission
from keys.organizations import has_second_step

CODE = "user_code"  # as RFC 8628, 3.3.1, has it in addresses


@require_http_methods(["GET", "HEAD", "POST"])
@after_login
@fresh_to_open
def device_login(request: HttpRequest) -> HttpResponse:
    """Ask for the code; then show the machine, and let it in or not."""
    organizations = organizations_to_let_in(person(request))
    if not organizations:
        return render(request, "account/device.html", {"is_refused": True}, status=403)
    given = request.POST.get(CODE) or request.GET.get(CODE)
    if given is None:
        return _ask(request)
    if refusal := refuse_guesses(request):
        return too_many(request, refusal)
    login = find_undecided(given)
    if login is None:
        count_guess(request)
        return _ask(request, given)
    form = OrganizationForm(request.POST if "do" in request.POST else None, organizations=organizations)
    if request.POST.get("do") == "deny":
        return _decide(request, login, None)
    if request.POST.get("do") == "authorize" and form.is_valid():
        return _authorize(request, login, cast(Organization, form.cleaned_data["organization"]))
    context = {"login": login, "code": shown(letters_of(given)), "form": form, "permissions": Permission.choices}
    return render(request, "account/device.html", context, status=400 if form.errors else 200)


def _ask(request: HttpRequest, given: str | None = None) -> HttpResponse:
    form = DeviceCodeForm(None if given is None else {CODE: given})
    if given is not None:
        gone = gettext(
            "No login waits for this code. It has expired, or was used already. Start again on your machine."
        )
        form.add_error(CODE, gone)
    return render(request, "account/device.html", {"form": form}, status=400 if form.errors else 200)


def _authorize(request: HttpRequest, login: DeviceLogin, organization: Organization) -> HttpResponse:
    if organization.second_step_required and not has_second_step(person(request)):
        asked = gettext("%(name)s requires a passkey or an authenticator app. Add one, then come back.")
        messages.warning(request, asked % {"name": organization.name})
        return redirect("mfa_index")
    return _decide(request, login, organization)


def _decide(request: HttpRequest, login: DeviceLogin, organization: Organization | None) -> HttpResponse:
    if not decide(login, by=person(request), organization=organization):
        return _ask(request, request.POST[CODE])
    context = {"login": login, "is_done": True, "organization": organization}
    return render(request, "account/device.html", context)
