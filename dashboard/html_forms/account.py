"""
Labels and help of allauth's forms. Their behavior is allauth's, except where a docstring says so.

https://docs.allauth.org/en/latest/account/forms.html
"""

from typing import Any

from allauth.account import forms as account
from allauth.account.models import EmailAddress
from allauth.mfa.base import forms as second_step
from allauth.mfa.totp.forms import ActivateTOTPForm as DefaultActivateTOTPForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm as DefaultAddWebAuthnForm

PASSWORD_HELP = "10 characters or more. Not your address, and not a common password."  # noqa: S105  # a help text
CODE_HELP = "From your authenticator app, or one of your recovery codes."


class Labeled:
    """Sets `labels` and `help_texts` by the name of the field."""

    labels: dict[str, str] = {}
    help_texts: dict[str, str] = {}
    fields: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.label = self.labels.get(name, field.label)
            field.help_text = self.help_texts.get(name, field.help_text)


class LoginForm(Labeled, account.LoginForm):
    labels = {"remember": "Keep me logged in here"}


class SignupForm(Labeled, account.SignupForm):
    """Inherits the organization from `html_forms.sign_up`, by the setting ACCOUNT_SIGNUP_FORM_CLASS."""

    help_texts = {"password1": PASSWORD_HELP}


class ResetPasswordForm(account.ResetPasswordForm):
    """Requests a code by mail."""

    def clean_email(self) -> str:
        """Create the address record that the code verifies for users created by a command: one code is enough."""
        email: str = super().clean_email()
        for user in self.users:
            EmailAddress.objects.get_or_create(user=user, email=user.email)  # becomes primary once verified
        return email


class AddEmailForm(Labeled, account.AddEmailForm):
    labels = {"email": "New address"}


class SetPasswordForm(Labeled, account.SetPasswordForm):
    """The first password of a user without one."""

    labels = {"password1": "Password", "password2": "Password, again"}
    help_texts = {"password1": PASSWORD_HELP}


class ChangePasswordForm(Labeled, account.ChangePasswordForm):
    labels = {"oldpassword": "Current password", "password1": "New password", "password2": "New password, again"}
    help_texts = {"password1": PASSWORD_HELP}


class ResetPasswordKeyForm(Labeled, account.ResetPasswordKeyForm):
    """The new password, after the mailed code."""

    labels = {"password1": "New password", "password2": "New password, again"}
    help_texts = {"password1": PASSWORD_HELP}


class AuthenticateForm(Labeled, second_step.AuthenticateForm):
    """The second step of login."""

    help_texts = {"code": CODE_HELP}


class ReauthenticateCodeForm(Labeled, second_step.ReauthenticateForm):
    """A code, requested again before a sensitive change."""

    help_texts = {"code": CODE_HELP}


class ActivateTOTPForm(Labeled, DefaultActivateTOTPForm):
    """The first code of an authenticator app."""

    labels = {"code": "Code from the app"}


class AddWebAuthnForm(Labeled, DefaultAddWebAuthnForm):
    """A passkey, or a security key that only serves as a second step."""

    labels = {"name": "Name", "passwordless": "Log in with it instead of my password"}
    help_texts = {
        "name": "For example, your device.",
        "passwordless": "It asks for your fingerprint, face or PIN. Otherwise it is a second step after the password.",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["passwordless"].initial = True
