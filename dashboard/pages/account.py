"""The pages of an account, independent of organizations."""

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import translation
from django.utils.translation import gettext

from config.api.errors import ApiError
from dashboard.access import person
from dashboard.accounts.fresh_login import fresh_to_open
from dashboard.accounts.languages import choose_language, language_now
from dashboard.accounts.oidc.step_up import has_identity
from dashboard.accounts.time_zones import UTC, in_own_time, preset_zone
from dashboard.html_forms.language import LanguageForm
from dashboard.html_forms.members import DeleteAccountForm
from dashboard.html_forms.time_zone import TimeZoneForm
from keys.audit.reading import events_of_person, sentence
from keys.invitations import invitations_to
from keys.models import Membership
from submissions.lifecycle.closing import delete_account, organizations_of

SHOWN_EVENTS = 10


@login_required
@in_own_time
def account(request: HttpRequest) -> HttpResponse:
    """Show the login methods of the account, its organizations, and what was done with it."""
    user = person(request)
    memberships = Membership.objects.filter(user=user).select_related("organization")
    context = {
        "language": dict(settings.LANGUAGES)[language_now()],
        "memberships": memberships.order_by("organization__name"),
        "invitations": invitations_to(user),
        "is_linked": has_identity(user),
        "has_app": is_mfa_enabled(request.user, [Authenticator.Type.TOTP]),
        "events": [(event, *sentence(event)) for event in events_of_person(user)[:SHOWN_EVENTS]],
        "passkeys": Authenticator.objects.filter(user=request.user.pk, type=Authenticator.Type.WEBAUTHN).count(),
    }
    return render(request, "dashboard/account.html", context)


@login_required
def time_zone(request: HttpRequest) -> HttpResponse:
    """Ask for the time zone; or take the browser's as `preset`, which a script sends while there is none."""
    user = person(request)
    if request.method == "POST" and "preset" in request.POST:
        preset_zone(user, request.POST["preset"])
        return HttpResponse(status=204)
    entered = TimeZoneForm(request.POST or None, initial={"zone": user.time_zone or UTC})
    if request.method == "POST" and entered.is_valid():
        user.time_zone = entered.cleaned_data["zone"]
        user.save(update_fields=["time_zone"])
        messages.success(request, gettext("Saved. Times are shown in your time zone."))
        return redirect("dashboard:account")
    context = {"form": entered}
    return render(request, "dashboard/account_time_zone.html", context, status=400 if entered.errors else 200)


@login_required
def language(request: HttpRequest) -> HttpResponse:
    user = person(request)
    entered = LanguageForm(request.POST or None, initial={"language": user.language})
    if request.method == "POST" and entered.is_valid():
        choose_language(user, entered.cleaned_data["language"])
        with translation.override(user.language or language_now()):
            messages.success(request, gettext("Saved. The dashboard is in your language."))
        return redirect("dashboard:account")
    context = {"form": entered}
    return render(request, "dashboard/account_language.html", context, status=400 if entered.errors else 200)


@login_required
@fresh_to_open
def delete(request: HttpRequest) -> HttpResponse:
    """Ask for the address and for organizations to erase with the account, then delete it."""
    user = person(request)
    alone, orphaned = organizations_of(user)
    entered = DeleteAccountForm(request.POST or None, email=user.email, alone=alone)
    if request.method == "POST" and entered.is_valid():
        try:
            delete_account(user, with_organizations=entered.cleaned_data.get("organizations", []))
        except ApiError as error:
            entered.add_error(None, error.message)
        else:
            logout(request)
            messages.success(request, gettext("Your account is deleted."))
            return redirect("account_login")
    context = {"form": entered, "alone": alone, "orphaned": orphaned}
    return render(request, "dashboard/account_delete.html", context, status=400 if entered.errors else 200)


urlpatterns = [
    path("account", account, name="account"),
    path("account/time-zone", time_zone, name="account-time-zone"),
    path("account/language", language, name="account-language"),
    path("account/delete", delete, name="account-delete"),
]
