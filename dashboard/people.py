"""
How allauth meets this project: whose address a client has, where mail goes, what signing up makes.

https://docs.allauth.org/en/latest/account/adapter.html
"""

import logging
from smtplib import SMTPException
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest

from config.api.client_address import client_network
from forms_app.organizations import MAX_NAME, create_organization
from keys.models import User

logger = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Our notion of a client's address, and no lost page when the mail server is away."""

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return what limits count, as the API's do."""
        return client_network(request)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail now. When that fails, say so instead of failing the page: everything can be asked for again."""
        try:
            super().send_mail(template_prefix, email, {**context, "public_url": settings.PUBLIC_URL})
        except (OSError, SMTPException) as error:
            logger.warning("a mail about an account could not be sent: %s", error)
            if self.request:
                messages.error(self.request, "We could not send the mail just now. Please ask for it again in a minute.")


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    """What authenticator apps and passkeys show."""

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
    field_order = ["email", "password1", "organization"]

    def signup(self, request: HttpRequest, user: User) -> None:
        """Make the person's organization, whole from the start."""
        create_organization(name=self.cleaned_data["organization"], owner=user, by=user, number_taken_slugs=True)
