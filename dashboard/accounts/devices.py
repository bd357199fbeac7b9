"""Names of devices, and the cookie by which a browser is known to an account."""

import re

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from django.utils import translation
from django.utils.crypto import salted_hmac
from django.utils.functional import lazy
from django.utils.translation import gettext, gettext_lazy

from config.base.client_address import client_network
from config.base.times import now
from keys.models import User
from keys.notices import notify_account

COOKIE = "__Host-device" if settings.IS_HTTPS else "fieldpost_device"
SALT = "fieldpost.device"
YEAR = 366 * 86_400  # seconds
MOST_ACCOUNTS = 10  # that one browser is known to
# The first match counts: browsers name the ones that they imitate, too.
BROWSERS = {
    "Edge": "Edg", "Opera": "OPR", "Samsung Internet": "SamsungBrowser", "Firefox": "Firefox|FxiOS",
    "Chrome": "Chrome|CriOS", "Safari": "Safari",
}  # fmt: skip
SYSTEMS = {
    "iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Windows": "Windows", "ChromeOS": "CrOS",
    "macOS": "Mac OS X|Macintosh", "Linux": "Linux",
}  # fmt: skip
NEW_DEVICE = gettext_lazy("New device logged in to your account")
DEVICE_TEXT_WITHOUT_PASSWORDS = gettext_lazy(
    "Your account was used to log in from a device that we have not seen before.\n\n"
    "Device: %(device)s\nAddress: %(address)s\nTime: %(time)s UTC\n\n"
    "If that was you, there is nothing to do. If not, end that session, and tell the people who run your login: %(url)s"
)
DEVICE_TEXT = gettext_lazy(
    "Your account was used to log in from a device that we have not seen before.\n\n"
    "Device: %(device)s\nAddress: %(address)s\nTime: %(time)s UTC\n\n"
    "If that was you, there is nothing to do. If not, set a new password, which ends all other sessions: %(url)s"
)


def device_name(user_agent: str) -> str:
    """Return a name such as `Firefox on Windows`; unknown parts are left out."""
    browser = _first(BROWSERS, user_agent, r"(?:{})/") or gettext("A browser")
    system = _first(SYSTEMS, user_agent, "{}")
    if not system:
        return browser
    return gettext("%(browser)s on %(system)s") % {"browser": browser, "system": system}


def is_known(request: HttpRequest, user: User) -> bool:
    """Return whether this browser has logged in to the account before."""
    return _mark(user) in _marks(request)


def remember_device(request: HttpRequest, response: HttpResponseBase, user: User) -> None:
    """Make the browser known to the account for a year."""
    marks = [_mark(user), *(mark for mark in _marks(request) if mark != _mark(user))]
    response.set_cookie(
        COOKIE,
        signing.dumps(marks[:MOST_ACCOUNTS], salt=SALT),
        max_age=YEAR,
        secure=settings.IS_HTTPS,
        httponly=True,
        samesite="Lax",
    )


def tell_of_new_device(request: HttpRequest, user: User) -> None:
    """Mail the account's owner that an unknown browser has logged in, at most once a day for a device and address."""
    agent, network = request.headers.get("User-Agent", ""), client_network(request)
    moment = now()
    with translation.override(settings.LANGUAGE_CODE):
        device = device_name(agent)
    once = f"device {user.pk} {salted_hmac(SALT, f'{device} {network}').hexdigest()[:16]} {moment:%Y-%m-%d}"
    values = {
        "device": lazy(device_name, str)(agent),
        "address": network,
        "time": f"{moment:%Y-%m-%d %H:%M}",
        "url": f"{settings.PUBLIC_URL}/account/{'sessions' if settings.OIDC_ONLY else 'password/reset'}/",
    }
    text = DEVICE_TEXT_WITHOUT_PASSWORDS if settings.OIDC_ONLY else DEVICE_TEXT
    notify_account(user, "account.new_device", subject=NEW_DEVICE, text=text, values=values, once=once)


def _first(names: dict[str, str], text: str, pattern: str) -> str:
    text = text[:300]
    return next((name for name, words in names.items() if re.search(pattern.format(words), text)), "")


def _mark(user: User) -> str:
    return salted_hmac(SALT, str(user.pk)).hexdigest()[:16]


def _marks(request: HttpRequest) -> list[str]:
    try:
        return list(signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=YEAR))
    except signing.BadSignature:
        return []
