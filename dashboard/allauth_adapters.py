"""
allauth's adapters for this project: the client's address, mail that cannot be sent, redirects, names of passkeys.

https://docs.allauth.org/en/latest/account/adapter.html
"""

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest

from config.client_address import client_network
from dashboard.opened_invitation import opened_invitation_page
from keys.models import User

logger = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):
    """Limits by the project's client address, redirects to invitations, and survives a mail server that is down."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": "That address and password are not correct.",
        "too_many_login_attempts": "Too many tries. Wait a few minutes, or set a new password by mail.",
        "incorrect_code": "That code is not correct.",
    }

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address or network that limits count, the same as the API's."""
        return client_network(request)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Count failed logins by client and account, so that nobody can lock out a user from elsewhere."""
        account = f"{client_network(request)} {credentials.get('email', '')}"
        super().pre_authenticate(request, email=account)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """Return the page of an opened invitation, if there is one: the address is verified by now."""
        return opened_invitation_page(request) or str(super().get_login_redirect_url(request))

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        """Return the page of an opened invitation after sign-up."""
        return opened_invitation_page(request) or str(super().get_signup_redirect_url(request))

    def get_email_verification_redirect_url(self, email_address: Any) -> str:
        """Return the page of an opened invitation after the code that verifies an address."""
        return opened_invitation_page(self.request) or str(super().get_email_verification_redirect_url(email_address))

    def send_mail(self, template_prefix: str, email: str, values: dict[str, Any]) -> None:
        """Send a mail now. A failure is shown on the page instead of failing it: users can request every mail again."""
        try:
            super().send_mail(template_prefix, email, {**values, "public_url": settings.PUBLIC_URL})
        except OSError as error:  # SMTPException is one
            logger.warning("a mail about an account could not be sent: %s", error)
            if self.request:
                messages.error(self.request, "We could not send the mail. Request it again in a minute.")


class MFAAdapter(DefaultMFAAdapter):
    """Names and messages of authenticator apps and passkeys."""

    error_messages = DefaultMFAAdapter.error_messages | {"incorrect_code": "That code is not correct."}

    def generate_authenticator_name(self, user: User, type: str) -> str:  # noqa: A002  # allauth's name
        """Return the default name of a new passkey."""
        count = Authenticator.objects.filter(user=user, type=type).count()
        return f"Passkey {count + 1}" if count else "Passkey"

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """Return the WebAuthn relying party: this service under its public host name."""
        return {**super().get_public_key_credential_rp_entity(), "name": "Fieldpost"}
