"""Settings, Access Keys: generate, regenerate, revoke. A secret is only in the response that created it."""

import datetime as dt

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_variables

from config.api.errors import ApiError
from config.base.ids import Prefix
from config.base.times import now
from dashboard.access import MemberRequest, find_own, in_organization, reporting
from dashboard.accounts.fresh_login import fresh_to_open
from dashboard.frame.changes.sent_once import open_page, sent_once
from dashboard.html_forms.keys import NewKeyForm
from forms_app.snippets import environment_line
from keys.access_keys import exposed_keys, issue_key, regenerate_key, revoke_key
from keys.models import AccessKey, Role

ROTATE_AFTER = dt.timedelta(days=90)  # recommended in docs/contract.md 3
ONCE = "key_form"  # session key: tokens of the pages that may make one key each


@in_organization(Role.ADMIN)
def keys(request: MemberRequest) -> HttpResponse:
    own = AccessKey.objects.filter(organization=request.member.organization).order_by("-id")
    old_before = now() - ROTATE_AFTER
    working = [key for key in own if key.is_usable]
    exposed = set(exposed_keys(request.member.organization).values_list("pk", flat=True))
    context = {
        "secret_keys": [
            {"key": key, "is_old": key.secret_made_at < old_before, "in_a_page": key.pk in exposed}
            for key in working
            if not key.is_publishable
        ],
        "publishable_keys": [key for key in working if key.is_publishable],
        "ended_keys": [key for key in own if not key.is_usable],
    }
    return render(request, "dashboard/keys.html", context)


@in_organization(Role.ADMIN)
@fresh_to_open
@sensitive_variables("token")
def new_key(request: MemberRequest) -> HttpResponse:
    """Ask for the settings of a key, create it, and show its secret once."""
    organization = request.member.organization
    form = NewKeyForm(request.POST or None, terms=organization.terms)
    if request.method == "POST" and form.is_valid():
        with sent_once(request, ONCE) as is_first:
            if not is_first:
                said = gettext("That form was already sent. The key is in the list; its secret is not shown again.")
                messages.warning(request, said)
                return redirect("dashboard:keys", organization.slug)
            try:
                key, token = issue_key(organization=organization, by=request.member.user, **form.cleaned_data)
            except ApiError as error:
                form.add_error(None, error.message)
            else:
                return _show_secret(request, key, token, gettext("Access key generated"))
    context = {"form": form, "once": open_page(request, ONCE), "terms": organization.terms}
    return render(request, "dashboard/key_new.html", context, status=400 if form.errors else 200)


@in_organization(Role.ADMIN)
@fresh_to_open
@sensitive_variables("token")
def regenerate(request: MemberRequest, key_id: str) -> HttpResponse:
    """Ask for confirmation, then give the key a new secret and show it once."""
    key = _find_key(request, key_id)
    if request.method != "POST":
        return _ask(request, key, "regenerate")
    try:
        token = regenerate_key(key, by=request.member.user)
    except ApiError as error:
        messages.error(request, error.message)
        return redirect("dashboard:keys", request.member.organization.slug)
    key.refresh_from_db()
    return _show_secret(request, key, token, gettext("Access key regenerated"))


@in_organization(Role.ADMIN)
def revoke(request: MemberRequest, key_id: str) -> HttpResponse:
    key = _find_key(request, key_id)
    if request.method != "POST":
        return _ask(request, key, "revoke")
    done = gettext("“%(name)s” is revoked. Requests that still use it get 401 from now on.")
    with reporting(request, done % {"name": key.name}):
        revoke_key(key, by=request.member.user)
    return redirect("dashboard:keys", request.member.organization.slug)


def _ask(request: MemberRequest, key: AccessKey, act: str) -> HttpResponse:
    back = reverse("dashboard:keys", args=[request.member.organization.slug])
    return render(request, "dashboard/key_confirm.html", {"key": key, "act": act, "back": back})


def _find_key(request: MemberRequest, key_id: str) -> AccessKey:
    keys = AccessKey.objects.select_related("organization")
    return find_own(keys, Prefix.ACCESS_KEY, key_id, organization=request.member.organization)


@sensitive_variables("token")
def _show_secret(request: MemberRequest, key: AccessKey, token: str, heading: str) -> HttpResponse:
    context = {"key": key, "token": token, "heading": heading, "environment_line": environment_line(token)}
    return render(request, "dashboard/key_secret.html", context)


urlpatterns = [
    path("keys", keys, name="keys"),
    path("keys/new", new_key, name="key-new"),
    path("keys/<str:key_id>/regenerate", regenerate, name="key-regenerate"),
    path("keys/<str:key_id>/revoke", revoke, name="key-revoke"),
]
