"""
The project's part of sign-up: the organization, or the invitation that replaces it.

allauth builds its own sign-up forms on this class, so this module must not import them.
https://docs.allauth.org/en/latest/account/forms.html#custom-signup-form
"""

from contextlib import suppress
from typing import Any

from allauth.core import context
from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy

from config.base.text import refuse_web_address
from dashboard.accounts.languages import choose_language, language_now
from dashboard.opened_invitation import opened_invitation
from forms_app.sign_up import MAX_NAME, SlugTaken, create_organization
from keys.models import User


class NameField(forms.CharField):
    """A name that mails show to strangers, so it must not hold a web address."""

    def clean(self, value: Any) -> str:
        name = str(super().clean(value))
        try:
            refuse_web_address(name)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None
        return name


class OrganizationSignupForm(forms.Form):
    """Asks for an organization besides the email address and password; an invited user joins one instead."""

    organization = NameField(
        max_length=MAX_NAME,
        label=gettext_lazy("Organization"),
        help_text=gettext_lazy("Your company, project or site. You can invite others later."),
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    field_order = ["organization", "email", "password1"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.invitation = opened_invitation(context.request)
        if self.invitation is not None:
            del self.fields["organization"]
            self.initial["email"] = self.invitation.email

    def clean(self) -> dict[str, Any]:
        """Require the invited address: the invitation is for nobody else."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if self.invitation is not None and values.get("email", "").lower() != self.invitation.email:
            self.add_error(
                "email",
                gettext("The invitation is for %(email)s. Sign up with that address.")
                % {"email": self.invitation.email},
            )
        return values

    def signup(self, request: HttpRequest, user: User) -> None:
        """Create the user's organization. An invited user joins once the address is verified."""
        choose_language(user, language_now())  # the first mail comes next
        if self.invitation is None:
            with suppress(SlugTaken):  # by a concurrent request: the user is asked for a name again after logging in
                name = self.cleaned_data["organization"]
                create_organization(name=name, owner=user, by=user, number_taken_slugs=True)
