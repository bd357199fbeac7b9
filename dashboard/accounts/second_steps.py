"""Second steps: codes that work once, and operators who must have one."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.db import transaction
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext

from keys.models import User
from keys.organizations import has_second_step

LAST_COUNTER = "last_counter"  # member of an authenticator app's data: the half minute of its last accepted code
AdminView = Callable[..., HttpResponseBase]


def use_code(authenticator: Authenticator, code: str) -> bool:
    """
    Return whether an app's valid code is newer than its last accepted one, and remember it.

    allauth forgets a used code after 30 seconds, and accepts it for 90 because clocks differ (RFC 6238, section 5.2).
    """
    with transaction.atomic():
        row = Authenticator.objects.select_for_update().get(pk=authenticator.pk)
        secret = get_adapter().decrypt(row.data["secret"])
        matching = [
            counter
            for counter in yield_hotp_counters_from_time()
            if compare_user_code(actual=code, expected=format_hotp_value(hotp_value(secret, counter)))
        ]
        if not matching or matching[-1] <= row.data.get(LAST_COUNTER, 0):
            return False
        row.data[LAST_COUNTER] = matching[-1]
        row.save(update_fields=["data"])
    authenticator.data = row.data
    return True


def require_second_step(site: AdminSite) -> None:
    """Show the pages of an admin only to operators with a second step; send others to the page that sets one up."""
    unguarded = site.admin_view

    def admin_view(view: AdminView, cacheable: bool = False) -> AdminView:
        inner: AdminView = unguarded(view, cacheable)

        @wraps(inner)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if site.has_permission(request) and not (isinstance(request.user, User) and has_second_step(request.user)):
                text = gettext("Operators need a passkey or an authenticator app. Add one, then come back.")
                messages.warning(request, text)
                return redirect("mfa_index")
            return inner(request, *args, **kwargs)

        return guarded

    site.admin_view = admin_view  # type: ignore[assignment,method-assign]  # each view of each model is wrapped by it
