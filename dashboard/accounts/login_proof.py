"""
Soft limits of logging in: after many wrong passwords a login needs a proof, but it is never locked (docs/adr/0040).

The proof is work of the browser, or a mailed code where scripts are off. Failures are counted by the client's address,
and by the account over all addresses, whether it exists or not.
"""

import hashlib
from collections.abc import Mapping

from allauth.account.adapter import get_adapter
from allauth.core import ratelimit
from allauth.core.internal.cryptokit import normalize_user_code
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext_lazy

from config.api.errors import ApiError
from config.base.times import now
from keys.models import User
from keys.notices import notify_account
from submissions.receiving.proof_of_work import FIELD, require_proof

BY_ADDRESS, BY_ACCOUNT, MAILED = "login_doubt_address", "login_doubt_account", "login_proof_code"  # rates in settings
CODE = "proof_code"  # the field of the mailed code
MAIL_CODE = "mail_code"  # the button that asks for one
CODE_LASTS = 900  # seconds
PURPOSE = "login"  # of the challenge: work for a form is no work for a login


def needs_proof(request: HttpRequest, email: str) -> bool:
    """Return whether the next login from this address, or to this account, must prove that it is no robot's."""
    key = email.lower()
    is_fine = [
        ratelimit.consume(request, action=BY_ADDRESS, dry_run=True),
        ratelimit.consume(request, action=BY_ACCOUNT, key=key, dry_run=True),
    ]
    return not all(is_fine)


def note_failure(request: HttpRequest, email: str) -> None:
    """Count a wrong password. When it takes the account over its limit, mail the owner, once a day."""
    key = email.lower()
    ratelimit.consume(request, action=BY_ADDRESS)
    ratelimit.consume(request, action=BY_ACCOUNT, key=key)
    if not ratelimit.consume(request, action=BY_ACCOUNT, key=key, dry_run=True):
        user = User.objects.filter(email=key, is_active=True).first()
        if user is not None:
            _warn(user)


def forget_failures(request: HttpRequest, email: str) -> None:
    """Start counting again, after the owner has set a new password."""
    ratelimit.clear(request, action=BY_ACCOUNT, key=email.lower())


def has_proof(values: Mapping[str, str], email: str) -> bool:
    """Return whether a form's values have a solved challenge, or the code that was mailed to this account."""
    entered = values.get(CODE, "").strip()
    if entered:
        is_right = constant_time_compare(cache.get(_name(email)) or "", _digest(entered[:40]))
        if is_right:
            cache.delete(_name(email))
        return is_right
    return has_work(values, PURPOSE)


def has_work(values: Mapping[str, str], purpose: str) -> bool:
    """Return whether a form's values have a solved challenge for this purpose. It is used up then."""
    try:
        require_proof({FIELD: values.get(FIELD, "")}, purposes=(purpose,), used_by="")
    except ApiError:
        return False
    return True


def mail_code(request: HttpRequest, email: str) -> None:
    """Mail a code that replaces the work of a browser, if the account exists; a few an hour."""
    if not ratelimit.consume(request, action=MAILED, key=email.lower()):
        return
    user = User.objects.filter(email=email.lower(), is_active=True).first()
    if user is not None:
        code = get_adapter().generate_login_code()
        cache.set(_name(email), _digest(code), CODE_LASTS)
        get_adapter().send_mail("account/email/login_proof", user.email, {"code": code})


def _warn(user: User) -> None:
    subject = gettext_lazy("Many wrong passwords for your account")
    text = gettext_lazy(
        "Somebody entered many wrong passwords for your account, perhaps from many computers. They did not get in."
        "\n\n"
        "Logging in to your account asks for a proof for the next hour, so that guessing is slow. You need not do "
        "anything if your password is long and used nowhere else. A passkey or an authenticator app makes guessing "
        "useless."
    )
    once = f"failed logins {user.pk} {now():%Y-%m-%d}"
    notify_account(user, "account.failed_logins", subject=subject, text=text, once=once)


def _digest(code: str) -> str:
    return salted_hmac("login proof", normalize_user_code(code)).hexdigest()


def _name(email: str) -> str:
    return f"login-proof:{hashlib.sha256(email.lower().encode()).hexdigest()}"
