"""
Labels and help of allauth's forms. Their behavior is allauth's, except where a docstring says so.

https://docs.allauth.org/en/latest/account/forms.html
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from allauth.account import forms as account
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base import forms as second_step
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm as DefaultActivateTOTPForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm as DefaultAddWebAuthnForm
from django import forms
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy

from dashboard.accounts.asking_proof import needs_proof as needs_proof_of_work
from dashboard.accounts.asking_proof import require_proof_of_work
from dashboard.accounts.hashing import place_to_hash
from dashboard.accounts.login_proof import MAIL_CODE, has_proof, mail_code, needs_proof
from dashboard.accounts.password_strength import refuse_weak
from dashboard.accounts.second_steps import use_code
from dashboard.html_forms.sign_up import NameField
from dashboard.opened_invitation import opened_invitation
from forms_app.sign_up import MAX_NAME
from keys.models import Invitation, User

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

PASSWORD_HELP = gettext_lazy("10 characters or more, and hard to guess: four unrelated words, for example.")
MAX_PERSON_NAME = 200
NEW_PASSWORD = {"password1": gettext_lazy("New password"), "password2": gettext_lazy("New password, again")}


class Labeled(forms.Form):
    """Sets `labels` and `help_texts` by the name of the field."""

    labels: "Mapping[str, StrOrPromise]" = {}
    help_texts: "Mapping[str, StrOrPromise]" = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.label = self.labels.get(name, field.label)
            field.help_text = self.help_texts.get(name, field.help_text)


class LoginForm(Labeled, account.LoginForm):
    """Asks for a proof, besides the password, after many wrong ones."""

    labels = {"remember": gettext_lazy("Keep me logged in here")}
    needs_proof = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Fill in the address of an invitation that was opened in this browser."""
        super().__init__(*args, **kwargs)
        invitation = opened_invitation(self.request)
        if invitation is not None:
            self.initial.setdefault("login", invitation.email)

    def clean(self) -> dict[str, Any]:
        """Require the proof before the password is checked."""
        email = self.cleaned_data.get("login", "")
        if self.errors or not email:
            return {}
        self.needs_proof = needs_proof(self.request, email)
        if self.needs_proof:
            self._require_proof(email)
        try:
            return super().clean() or {}
        except ValidationError:
            self.needs_proof = needs_proof(self.request, email)
            raise

    def _require_proof(self, email: str) -> None:
        if MAIL_CODE in self.data:
            mail_code(self.request, email)
            raise ValidationError(
                gettext("If there is such an account, a code is on its way. Enter it with your password.")
            )
        if not has_proof(self.data, email):
            raise ValidationError(
                gettext(
                    "Too many tries. Enter your password again: this time your browser first proves that it is not a "
                    "robot."
                )
            )


class AsksForAMail(forms.Form):
    """Asks for a proof of work, besides the values, after a few requests from the same address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.needs_proof = needs_proof_of_work(context.request)

    def require_proof(self) -> None:
        """Require the proof once everything else is right, as it is good for one request. Raises ValidationError."""
        if not self.errors:
            require_proof_of_work(context.request, self.data)


class SignupForm(AsksForAMail, Labeled, account.SignupForm):
    """Inherits the organization from `html_forms.sign_up`, by the setting ACCOUNT_SIGNUP_FORM_CLASS."""

    help_texts = {"password1": PASSWORD_HELP}

    def clean(self) -> dict[str, Any]:
        """Judge the password by the new organization's name, too, which its user does not have yet."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if values.get("password1") and not self.has_error("password1"):
            try:
                refuse_weak(values["password1"], [values.get("organization", ""), values.get("email", "")])
            except ValidationError as error:
                self.add_error("password1", error)
        self.require_proof()
        return values

    def try_save(self, request: HttpRequest) -> Any:
        """Save. A known address, which gets a mail instead, takes as long as an unknown one: hashing takes longest."""
        with place_to_hash(request):
            if self.account_already_exists:
                make_password(self.cleaned_data["password1"])
            return super().try_save(request)


class NewPersonForm(forms.Form):
    """Name and password of an account that is made on this page; a subclass adds `email`."""

    name = NameField(
        max_length=MAX_PERSON_NAME,
        label=gettext_lazy("Your name"),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    password1 = account.SetPasswordField(label=gettext_lazy("Password"), help_text=PASSWORD_HELP)

    def refuse_weak_password(self, organization: str) -> None:
        """Judge the password, also by the name of the organization."""
        values = self.cleaned_data
        person = User(email=values.get("email", ""), name=values.get("name", ""))
        if password := values.get("password1"):
            try:
                validate_password(password, person)
                refuse_weak(password, [person.email, person.name, organization])
            except ValidationError as error:
                self.add_error("password1", error)


class JoinForm(NewPersonForm):
    """The account of an invited person, on the page of the invitation's link. The address is the invited one."""

    email = forms.EmailField(label=gettext_lazy("Email"), disabled=True, required=False)
    field_order = ["email", "name", "password1"]

    def __init__(self, *args: Any, invitation: Invitation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["email"] = invitation.email
        self.invitation = invitation

    def clean(self) -> None:
        """Judge the password."""
        self.refuse_weak_password(self.invitation.organization.name)


class SetupForm(NewPersonForm):
    """The first organization and person of an installation."""

    organization = NameField(
        max_length=MAX_NAME,
        label=gettext_lazy("Organization"),
        help_text=gettext_lazy("Your company, project or site."),
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    email = forms.EmailField(
        max_length=254, label=gettext_lazy("Email"), widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )
    field_order = ["organization", "name", "email", "password1"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if settings.OIDC_ONLY:
            del self.fields["password1"]

    def clean(self) -> None:
        """Judge the password."""
        self.refuse_weak_password(self.cleaned_data.get("organization", ""))


class ResetPasswordForm(AsksForAMail, account.ResetPasswordForm):
    def clean_email(self) -> str:
        """Create the address record that the code verifies for users created by a command: one code is enough."""
        email: str = super().clean_email()
        for user in self.users:
            EmailAddress.objects.get_or_create(user=user, email=user.email)  # becomes primary once verified
        return email

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        self.require_proof()
        return values


class AddEmailForm(Labeled, account.AddEmailForm):
    labels = {"email": gettext_lazy("New address")}


class SetPasswordForm(Labeled, account.SetPasswordForm):
    """The first password of a user without one."""

    labels = {"password1": gettext_lazy("Password"), "password2": gettext_lazy("Password, again")}
    help_texts = {"password1": PASSWORD_HELP}


class ChangePasswordForm(Labeled, account.ChangePasswordForm):
    labels = {"oldpassword": gettext_lazy("Current password"), **NEW_PASSWORD}
    help_texts = {"password1": PASSWORD_HELP}


class ResetPasswordKeyForm(Labeled, account.ResetPasswordKeyForm):
    """The new password, after the mailed code."""

    labels = NEW_PASSWORD
    help_texts = {"password1": PASSWORD_HELP}

    def save(self) -> None:
        with place_to_hash(context.request):
            super().save()


class CodeWorksOnce(Labeled):
    """Refuses a code of an app that is not newer than the last accepted one."""

    help_texts = {"code": gettext_lazy("From your authenticator app, or one of your recovery codes.")}
    authenticator: Authenticator

    def clean_code(self) -> str:
        code: str = super().clean_code()  # type: ignore[misc]  # of the form next to it
        if self.authenticator.type == Authenticator.Type.TOTP and not use_code(self.authenticator, code):
            raise get_adapter().validation_error("incorrect_code")
        return code


class AuthenticateForm(CodeWorksOnce, second_step.AuthenticateForm):
    """The second step of login."""


class ReauthenticateCodeForm(CodeWorksOnce, second_step.ReauthenticateForm):
    """A code, requested again before a sensitive change."""


class ActivateTOTPForm(Labeled, DefaultActivateTOTPForm):
    labels = {"code": gettext_lazy("Code from the app")}


class AddWebAuthnForm(Labeled, DefaultAddWebAuthnForm):
    """A passkey, or a security key that only serves as a second step."""

    labels = {"name": gettext_lazy("Name"), "passwordless": gettext_lazy("Log in with it instead of my password")}
    help_texts = {
        "name": gettext_lazy("For example, your device."),
        "passwordless": gettext_lazy(
            "It asks for your fingerprint, face or PIN. Otherwise it is a second step after the password."
        ),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["passwordless"].initial = True
