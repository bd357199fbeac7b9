"""
How allauth meets this project: whose address a client has, where mail goes, what signing up makes.

https://docs.allauth.org/en/latest/account/adapter.html
"""

import logging
from contextlib import suppress
from smtplib import SMTPException
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse

from config.client_address import client_network
from forms_app.organizations import MAX_NAME, SlugTaken, create_organization
from keys.invitations import find_invitation
from keys.models import Invitation, User

INVITATION = "invitation"  # session key: the token of an invitation that was opened before logging in
logger = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):
    """Our notion of a client's address, and no lost page when the mail server is away."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": "That address and password are not correct.",
        "too_many_login_attempts": "Too many tries. Wait a few minutes, or set a new password by mail.",
        "incorrect_code": "That is not the code.",
    }

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return what limits count, as the API's do."""
        return client_network(request)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Count failures by client and account: guesses from elsewhere lock nobody out."""
        account = f"{client_network(request)} {credentials.get('email', '')}"
        super().pre_authenticate(request, email=account)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """Go back to an invitation that waits: by now the address is verified."""
        return _invitation_page(request) or str(super().get_login_redirect_url(request))

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        """The same after signing up."""
        return _invitation_page(request) or str(super().get_signup_redirect_url(request))

    def get_email_verification_redirect_url(self, email_address: Any) -> str:
        """The same after the code that verifies an address."""
        page = _invitation_page(self.request) if self.request else ""
        return page or str(super().get_email_verification_redirect_url(email_address))

    def send_mail(self, template_prefix: str, email: str, values: dict[str, Any]) -> None:
        """Send a mail now. When that fails, say so instead of failing the page: everything can be asked for again."""
        try:
            super().send_mail(template_prefix, email, {**values, "public_url": settings.PUBLIC_URL})
        except (OSError, SMTPException) as error:
            logger.warning("a mail about an account could not be sent: %s", error)
            if self.request:
                messages.error(
                    self.request, "We could not send the mail just now. Please ask for it again in a minute."
                )


class MFAAdapter(DefaultMFAAdapter):
    """What authenticator apps and passkeys show."""

    error_messages = DefaultMFAAdapter.error_messages | {"incorrect_code": "That is not the code."}

    def generate_authenticator_name(self, user: User, type: str) -> str:  # noqa: A002  # allauth's name
        """Return the name that a new passkey is offered."""
        made = Authenticator.objects.filter(user=user, type=type).count()
        return f"Passkey {made + 1}" if made else "Passkey"

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """Return the relying party: this service under its public host name."""
        return {**super().get_public_key_credential_rp_entity(), "name": "Fieldpost"}


class SignupForm(forms.Form):
    """What signing up asks beside address and password."""

    organization = forms.CharField(
        max_length=MAX_NAME,
        label="Organization",
        help_text="Your company, project or site. You can invite others later.",
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    field_order = ["organization", "email", "password1"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.invitation = _invitation_of(context.request)
        if self.invitation is not None:
            del self.fields["organization"]
            self.initial["email"] = self.invitation.email

    def clean(self) -> dict[str, Any]:
        """Whoever was invited signs up with the address that the invitation went to."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if self.invitation is not None and values.get("email", "").lower() != self.invitation.email:
            self.add_error("email", f"The invitation is for {self.invitation.email}. Sign up with that address.")
        return values

    def signup(self, request: HttpRequest, user: User) -> None:
        """Make the person's organization, whole from the start. Who was invited joins once the address is verified."""
        if self.invitation is None:
            with suppress(SlugTaken):  # by somebody in the same moment: after logging in they are asked for one again
                name = self.cleaned_data["organization"]
                create_organization(name=name, owner=user, by=user, number_taken_slugs=True)


def _invitation_page(request: HttpRequest) -> str:
    found = _invitation_of(request)
    return reverse("dashboard:invitation", args=[request.session[INVITATION]]) if found else ""


def _invitation_of(request: HttpRequest | None) -> Invitation | None:
    """Return the invitation whose link was opened in this browser, while it can be accepted."""
    token = request.session.get(INVITATION, "") if request is not None else ""
    return find_invitation(token) if token else None
