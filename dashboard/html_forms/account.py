"""
allauth's forms in our words: shorter help, labels that say what happens. What they do stays allauth's.

https://docs.allauth.org/en/latest/account/forms.html
"""

from typing import Any

from allauth.account import forms as account
from allauth.account.models import EmailAddress
from allauth.mfa.base import forms as second_step
from allauth.mfa.totp.forms import ActivateTOTPForm as DefaultActivateTOTPForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm as DefaultAddWebAuthnForm

PASSWORD_HELP = "10 characters or more. Not your address, and nothing that everybody uses."  # noqa: S105


class Plainer:
    """Labels stand above the controls already: nothing is repeated inside them."""

    labels: dict[str, str] = {}
    help_texts: dict[str, str] = {}
    fields: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs.pop("placeholder", None)
            field.label = self.labels.get(name, field.label)
            field.help_text = self.help_texts.get(name, field.help_text)


class LoginForm(Plainer, account.LoginForm):
    """Logging in by password."""

    labels = {"remember": "Keep me logged in here"}


class SignupForm(Plainer, account.SignupForm):
    """Signing up; what it asks and makes beside the person is `dashboard.allauth_adapters.SignupForm`."""

    help_texts = {"password1": PASSWORD_HELP}


class ResetPasswordForm(Plainer, account.ResetPasswordForm):
    """Asking for a code by mail."""

    def clean_email(self) -> str:
        """Give people whom a command made the record that the code will mark as verified: one code is enough."""
        email: str = super().clean_email()
        for user in self.users:
            EmailAddress.objects.get_or_create(user=user, email=user.email)  # verified, it becomes primary
        return email


class AddEmailForm(Plainer, account.AddEmailForm):
    """Another address."""

    labels = {"email": "New address"}


class ReauthenticateForm(Plainer, account.ReauthenticateForm):
    """The password once more."""


class SetPasswordForm(Plainer, account.SetPasswordForm):
    """A first password."""

    labels = {"password1": "Password", "password2": "Password, again"}
    help_texts = {"password1": PASSWORD_HELP}


class ChangePasswordForm(Plainer, account.ChangePasswordForm):
    """Another password."""

    labels = {"oldpassword": "Password now", "password1": "New password", "password2": "New password, again"}
    help_texts = {"password1": PASSWORD_HELP}


class ResetPasswordKeyForm(Plainer, account.ResetPasswordKeyForm):
    """A new password after the code."""

    labels = {"password1": "New password", "password2": "New password, again"}
    help_texts = {"password1": PASSWORD_HELP}


class ConfirmPasswordResetCodeForm(Plainer, account.ConfirmPasswordResetCodeForm):
    """The code that was mailed, for a new password."""


class ConfirmEmailVerificationCodeForm(Plainer, account.ConfirmEmailVerificationCodeForm):
    """The code that was mailed, to verify an address."""


class AuthenticateForm(Plainer, second_step.AuthenticateForm):
    """The second step of logging in."""

    help_texts = {"code": "From your authenticator app, or one of your recovery codes."}


class ReauthenticateCodeForm(Plainer, second_step.ReauthenticateForm):
    """A code once more."""

    help_texts = AuthenticateForm.help_texts


class ActivateTOTPForm(Plainer, DefaultActivateTOTPForm):
    """The first code of an authenticator app."""

    labels = {"code": "Code that the app shows"}


class AddWebAuthnForm(Plainer, DefaultAddWebAuthnForm):
    """A passkey, or a security key that is a second step alone."""

    labels = {"name": "Name", "passwordless": "Log in with it alone, without my password"}
    help_texts = {
        "name": "Such as the device it is on.",
        "passwordless": "It asks for your finger, face or PIN then. Otherwise it is a second step after the password.",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["passwordless"].initial = True
