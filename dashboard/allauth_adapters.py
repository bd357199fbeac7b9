"""
allauth's adapters for this project: the client's address, mails, redirects, names of passkeys.

https://docs.allauth.org/en/latest/account/adapter.html
"""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse, ReauthenticationRequired
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.usersessions.adapter import DefaultUserSessionsAdapter
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sites.shortcuts import get_current_site
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.translation import gettext, gettext_lazy

from config.base.client_address import client_network
from config.secrets.encryption import decrypt, encrypt
from dashboard.account_mail import lifetime_seconds, queue_account_mail
from dashboard.accounts.devices import device_name, is_known, remember_device, tell_of_new_device
from dashboard.accounts.fresh_login import is_fresh, note_login
from dashboard.accounts.languages import language_now
from dashboard.accounts.login_proof import forget_failures, note_failure
from dashboard.accounts.mailed_step_up import mailed_step_up
from dashboard.accounts.oidc.step_up import methods_with_issuer
from dashboard.accounts.remote_user import began_with
from dashboard.installation import is_open
from dashboard.opened_invitation import opened_invitation_page
from keys.audit.accounts import note_ended_sessions
from keys.models import User
from keys.notices import mail_language


def _client_and_account(request: HttpRequest, email: str) -> str:
    return f"{client_network(request)} {email}"


class AccountAdapter(DefaultAccountAdapter):
    """Limits by the project's client address, redirects to invitations, and mails through the outbox."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": gettext_lazy("That address and password are not correct."),
        "too_many_login_attempts": gettext_lazy("Too many tries. Wait a few minutes, or set a new password by mail."),
        "incorrect_code": gettext_lazy("That code is not correct."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether strangers may sign up. Raises ImmediateHttpResponse with the page that says why not."""
        if not is_open():
            raise ImmediateHttpResponse(render(request, "account/signup_closed.html", status=403))
        return True

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address that limits count, the same as the API's; of an IPv6 network, its first."""
        address = client_network(request).partition("/")[0]
        try:
            return str(ip_address(address))
        except ValueError:  # the list of sessions stores it as an address
            return "0.0.0.0"  # noqa: S104  # not bound to

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Count failed logins by client and account, so that nobody can lock out a user from elsewhere."""
        super().pre_authenticate(request, email=_client_and_account(request, credentials.get("email", "")))

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Count a wrong password by address and by account, for the limits that ask for a proof."""
        note_failure(request, credentials.get("email", ""))

    def _delete_login_attempts_cached_email(self, request: HttpRequest, **credentials: Any) -> None:
        """Forget the failures, once the owner has set a new password by mail."""
        email = credentials.get("email", "")
        forget_failures(request, email)
        super()._delete_login_attempts_cached_email(request, email=_client_and_account(request, email))

    def login(self, request: HttpRequest, user: User) -> None:
        """Log in, note when, and mail the account's owner if the browser is new. The first login of all is not."""
        if user.last_login is not None and not is_known(request, user):
            tell_of_new_device(request, user)
        super().login(request, user)
        note_login(request)

    def post_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse:
        """Return allauth's answer, by which the browser becomes known to the account."""
        response: HttpResponse = super().post_login(request, user, **kwargs)
        remember_device(request, response, user)
        return response

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """
        Return False right after a login: allauth's own sensitive pages, such as second steps, need not ask then.

        Raises ReauthenticationRequired otherwise: if this returned True, allauth would let accounts without a password
        pass.
        """
        if not is_fresh(context.request):
            raise ReauthenticationRequired
        return False

    def get_reauthentication_methods(self, user: User) -> list[dict[str, str]]:
        """
        Return allauth's, without the password where nobody has one, and the issuer of single sign-on.

        A session that a proxy's header began asks neither for a password nor there; who has nothing else gets a mail.
        """
        methods: list[dict[str, str]] = super().get_reauthentication_methods(user)
        if not user.is_authenticated:
            return methods
        if settings.OIDC_ISSUER:
            methods = methods_with_issuer(user, methods)
        if began_with(context.request):
            methods = [each for each in methods if each["id"] not in ("reauthenticate", "oidc")]
        return methods or [mailed_step_up()]

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """Return the page of an opened invitation, if there is one: the address is verified by now."""
        return opened_invitation_page(request) or str(super().get_login_redirect_url(request))

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        return opened_invitation_page(request) or str(super().get_signup_redirect_url(request))

    def get_email_verification_redirect_url(self, email_address: Any) -> str:
        return opened_invitation_page(self.request) or str(super().get_email_verification_redirect_url(email_address))

    def send_mail(self, template_prefix: str, email: str, values: dict[str, Any]) -> None:
        """Queue a mail, in the language of its reader: the deliverer sends it."""
        request = context.request
        always = {"request": request, "email": email, "current_site": get_current_site(request)}
        minutes = (lifetime_seconds(template_prefix, values) or 0) // 60
        user = values.get("user") or User.objects.filter(email=email.lower()).first()
        with translation.override(mail_language([user]) if user else language_now()):
            device = device_name(str(values.get("user_agent", "")))
            always |= {"public_url": settings.PUBLIC_URL, "is_open": is_open(), "minutes": minutes, "device": device}
            always["oidc_only"] = settings.OIDC_ONLY
            rendered = self.render_mail(template_prefix, email, {**always, **values})
            queue_account_mail(rendered, template_prefix, email, {**values, "user": user})


class MFAAdapter(DefaultMFAAdapter):
    """Names and messages of authenticator apps and passkeys."""

    error_messages = DefaultMFAAdapter.error_messages | {"incorrect_code": gettext_lazy("That code is not correct.")}

    def encrypt(self, text: str) -> str:
        return encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Return a stored secret; those of an earlier release are in clear text. Raises CannotDecrypt."""
        return decrypt(encrypted_text)

    def generate_authenticator_name(self, user: User, type: str) -> str:  # noqa: A002  # allauth's name
        count = Authenticator.objects.filter(user=user, type=type).count()
        return gettext("Passkey %(number)s") % {"number": count + 1} if count else gettext("Passkey")

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """Return the WebAuthn relying party: this service under its public host name."""
        return {**super().get_public_key_credential_rp_entity(), "name": "Fieldpost"}


class UserSessionsAdapter(DefaultUserSessionsAdapter):
    """Records in the audit trail that a person ended other sessions."""

    def end_sessions(self, sessions: Sequence[UserSession]) -> None:
        super().end_sessions(sessions)
        if sessions:
            note_ended_sessions(context.request.user, [session.user_agent for session in sessions])
