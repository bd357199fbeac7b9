"""
Signing up and asking for a new password: beyond a few an hour from an address, each needs work of the browser.

Both mail an address that anybody may type, whether it has an account or not, so the answers are the same for all.
"""

from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext

from config.api.ratelimit import count_burst, is_burst_used_up
from config.base.client_address import client_network
from dashboard.accounts.login_proof import has_work

GROUP, RATE = "asking-for-mails", "3/h"  # of an address, without a proof
PURPOSE = "account"  # of the challenge


def needs_proof(request: HttpRequest) -> bool:
    """Return whether the next request of this kind from this address has to prove that it is no robot's."""
    return is_burst_used_up(request, GROUP, client_network(request), RATE)


def require_proof_of_work(request: HttpRequest, values: Mapping[str, str]) -> None:
    """Count a request. Raises ValidationError if it needs a proof and has none."""
    usage = count_burst(request, GROUP, client_network(request), RATE)
    if usage.is_over and not has_work(values, PURPOSE):
        raise ValidationError(
            gettext("Too many requests from your network. Send it again: this time your browser does some work first.")
        )
