"""
Logging in from a program: it shows a short code, and a person confirms that in a browser (RFC 8628).

Only its own code gives the program its keys, which are made when it asks for them: no secret is stored.
"""

import datetime as dt
import secrets
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from django.db import transaction
from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from config.base.text import clean_name
from config.base.times import now
from config.clean_up import delete_in_batches
from keys import tokens
from keys.access_keys import issue_key
from keys.models import AccessKey, DeviceLogin, Organization, Role, User
from keys.organizations import has_second_step

LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # RFC 8628, 6.1: without vowels there are no words, and no digit is taken for a letter
CODE_LENGTH = 8  # 20 to the power of 8 is 35 bits, and an address may guess 300 times
LASTS = dt.timedelta(minutes=15)
INTERVAL = 5  # seconds between two polls
SLACK = dt.timedelta(seconds=1)  # of a program that counts from its answer
KEPT = dt.timedelta(hours=1)  # after the end, to tell late programs that it has expired
MAX_MACHINE = 100  # characters


class Refusal(StrEnum):
    """Why a program gets no keys, in the words of RFC 8628, 3.5, and RFC 6749, 5.2."""

    PENDING = "authorization_pending"
    TOO_SOON = "slow_down"
    DENIED = "access_denied"
    EXPIRED = "expired_token"
    UNKNOWN = "invalid_grant"


@dataclass(frozen=True, slots=True)
class Granted:
    """The keys of a program, each with its token."""

    organization: Organization
    live: tuple[AccessKey, str]
    test: tuple[AccessKey, str]


def begin_login(machine: str, *, address: str) -> tuple[str, str]:
    """Return the codes of a new login: the program's, and the person's as it is shown, `WDJB-MJHT`."""
    device, user = secrets.token_urlsafe(32), "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))
    DeviceLogin.objects.create(
        device_digest=tokens.digest(device),
        user_digest=_user_digest(user),
        machine=machine,
        address=address,
        expires_at=now() + LASTS,
    )
    return device, shown(user)


def machine_name(text: str) -> str:
    """Return the name of a machine as it is stored. Raises ValueError for one without a character, or too many."""
    name = clean_name(text).strip()
    if not 0 < len(name) <= MAX_MACHINE or not name.isprintable():
        raise ValueError
    return name


def shown(code: str) -> str:
    return f"{code[:4]}-{code[4:]}"


def letters_of(text: str) -> str:
    """Return a typed code without what people put between its letters."""
    return "".join(letter for letter in text[:100].upper() if letter in LETTERS)


def find_undecided(code: str) -> DeviceLogin | None:
    """Return the login that waits for a decision under a person's code, however it was typed."""
    undecided = DeviceLogin.objects.filter(decided_at=None, expires_at__gt=now())
    return undecided.filter(user_digest=_user_digest(letters_of(code))).first()


def organizations_to_let_in(user: User) -> QuerySet[Organization]:
    """Return the organizations whose keys this person may give to a program."""
    managing = user.memberships.filter(role__in=[Role.OWNER, Role.ADMIN])
    return Organization.objects.filter(pk__in=managing.values("organization"), suspended_at=None).order_by("name")


def decide(login: DeviceLogin, *, by: User, organization: Organization | None) -> bool:
    """Let the program into an organization, or with None refuse it. Return False if somebody has decided already."""
    undecided = DeviceLogin.objects.filter(pk=login.pk, decided_at=None, expires_at__gt=now())
    return bool(undecided.update(decided_at=now(), user=by, organization=organization))


def redeem(device_code: str) -> Granted | Refusal:
    """Return the keys for a program's code, once, or why there are none."""
    with transaction.atomic():
        login = DeviceLogin.objects.select_for_update().filter(device_digest=tokens.digest(device_code)).first()
        if login is None:
            return Refusal.UNKNOWN
        if login.expires_at <= now():
            return Refusal.EXPIRED
        if login.decided_at is None:
            return _wait(login)
        if login.user is None or login.organization is None or not _may_still(login.user, login.organization):
            return Refusal.DENIED
        issue = partial(issue_key, organization=login.organization, name=login.machine, by=login.user)
        live, test = issue(mode=AccessKey.Mode.LIVE), issue(mode=AccessKey.Mode.TEST)
        login.delete()
        return Granted(login.organization, live, test)


def _wait(login: DeviceLogin) -> Refusal:
    before, login.polled_at = login.polled_at, now()
    login.save(update_fields=["polled_at"])
    is_soon = before and login.polled_at - before < dt.timedelta(seconds=INTERVAL) - SLACK
    return Refusal.TOO_SOON if is_soon else Refusal.PENDING


def _may_still(user: User, organization: Organization) -> bool:
    """Return whether nothing has changed since the person has decided."""
    is_let = user.is_active and organizations_to_let_in(user).filter(pk=organization.pk).exists()
    return is_let and (not organization.second_step_required or has_second_step(user))


def purge_device_logins() -> None:
    delete_in_batches(DeviceLogin.objects.filter(expires_at__lt=now() - KEPT), by="expires_at")


def _user_digest(code: str) -> str:
    """Return the hash of a person's code. Keyed, because a plain one of 35 bits is found in minutes."""
    return salted_hmac("keys.devices", code, algorithm="sha256").hexdigest()
