"""
Records what people do with their accounts: logins, passwords, second steps.

Such an event has no organization. Owners and admins see those of their members; `keys/audit/reading.py` says which.
"""

import datetime as dt
from typing import Any

from allauth.account import signals as account_signals
from allauth.mfa import signals as mfa_signals
from allauth.mfa.models import Authenticator
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import Signal
from django.http import HttpRequest
from django.utils.translation import gettext_noop

from config.base.times import now
from keys.audit import record_event
from keys.audit.changes import changes
from keys.issuer_sessions import issuer_of_login
from keys.models import AuditEvent, User

LOGIN_FAILED = "account.login_failed"
FAILED_AN_HOUR = 10  # recorded for one account: a stranger must not fill the table
METHODS = {
    Authenticator.Type.TOTP: gettext_noop("an authenticator app"),
    Authenticator.Type.WEBAUTHN: gettext_noop("a passkey"),
    Authenticator.Type.RECOVERY_CODES: gettext_noop("recovery codes"),
}


# What needs no more than the person and their second step.
RECORDED = {
    account_signals.user_signed_up: "account.signed_up",
    account_signals.password_changed: "account.password_changed",
    account_signals.password_set: "account.password_changed",
    account_signals.password_reset: "account.password_reset",
    mfa_signals.authenticator_added: "account.second_step_added",
    mfa_signals.authenticator_removed: "account.second_step_removed",
    mfa_signals.authenticator_reset: "account.second_step_renewed",
}


def connect() -> None:
    """Connect the signals. The functions below are module-level, so that weak references to them last."""
    user_logged_in.connect(note_login)
    user_logged_out.connect(note_logout)
    user_login_failed.connect(note_failed_login)
    account_signals.email_changed.connect(note_address)
    mfa_signals.authentication_failed.connect(note_failed_step)
    for signal in RECORDED:
        signal.connect(note_signal)


def note_signal(signal: Signal, user: User, authenticator: Authenticator | None = None, **_: Any) -> None:
    method = METHODS.get(authenticator.type, str(authenticator.type)) if authenticator else ""
    _note(user, RECORDED[signal], method)


def note_login(user: User, request: HttpRequest | None = None, **_: Any) -> None:
    _note(user, "account.logged_in", browser=_browser(request), issuer=issuer_of_login(request, user) or None)


def note_logout(user: User | None, **_: Any) -> None:
    if isinstance(user, User) and User.objects.filter(pk=user.pk).exists():  # not with a deleted account
        _note(user, "account.logged_out")


def note_failed_login(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    """Record a failed login of a known account, whose person did not necessarily do it."""
    address = str(credentials.get("email") or credentials.get("username") or "")
    user = User.objects.filter(email=address.strip().lower()[:254]).first()
    if user is not None:
        _note_failure(user, request, gettext_noop("wrong password"))


def note_failed_step(user: User, request: HttpRequest | None = None, **_: Any) -> None:
    _note_failure(user, request, gettext_noop("wrong second step"))


def note_ended_sessions(user: User, browsers: list[str | None]) -> None:
    """Record that a person ended other sessions of the account, by the name that each browser gave itself."""
    _note(user, "account.sessions_ended", browsers=browsers)


def note_address(user: User, from_email_address: Any, to_email_address: Any, **_: Any) -> None:
    old, new = getattr(from_email_address, "email", None), to_email_address.email
    _note(user, "account.email_changed", f"to {new}", old={"email": old}, email=new)


def _note(user: User, action: str, subject: str = "", old: dict[str, Any] | None = None, **new: Any) -> None:
    record_event(organization=None, by=user, action=action, subject=subject, changes=changes(old or {}, new))


def _note_failure(user: User, request: HttpRequest | None, reason: str) -> None:
    recently = AuditEvent.objects.filter(user=user, action=LOGIN_FAILED, created_at__gt=now() - dt.timedelta(hours=1))
    if recently.count() < FAILED_AN_HOUR:
        _note(user, LOGIN_FAILED, reason, browser=_browser(request))


def _browser(request: HttpRequest | None) -> str | None:
    return request.META.get("HTTP_USER_AGENT") if request is not None else None
