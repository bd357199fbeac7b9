"""Mail addresses that strangers typed: whether one is a single address, and which ones reach the same mailbox."""

import re

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

MAX_ADDRESS = 254  # characters, the limit of an SMTP path (RFC 5321, 4.5.3.1.3)
_UNFIT_FOR_ADDRESS = re.compile(r'[\s\x00-\x1f\x7f-\x9f,;:<>()"\\]')
# Mailboxes of programs: an answer to them starts a loop, or reaches nobody (RFC 3834, section 2; RFC 2142).
_PROGRAMS = frozenset(
    {
        *("mailer-daemon", "postmaster", "noreply", "no-reply", "no_reply", "donotreply", "do-not-reply"),
        *("bounce", "bounces", "autoreply", "auto-reply", "daemon", "root", "nobody"),
    }
)
_LIST_ENDINGS = ("-request", "-bounces", "-owner", "-subscribe", "-unsubscribe")
_LIST_BEGINNINGS = ("owner-", "bounce-", "bounces-")


def is_single_address(address: str) -> bool:
    """Accept a plain `name@host` only: a quoted local part is valid, but may hold control characters and commas."""
    if len(address) > MAX_ADDRESS or _UNFIT_FOR_ADDRESS.search(address):
        return False
    try:
        validate_email(address)
    except ValidationError:
        return False
    return True


def mailbox_of(address: str) -> str:
    """Return a single address as caps and lists compare it: in lower case, without `+` and the text after it."""
    name, _, host = address.lower().rpartition("@")
    return f"{name.partition('+')[0] or name}@{host}"


def is_of_a_program(address: str) -> bool:
    """Return whether a single address is that of a mail server, a mailing list's program or an unread mailbox."""
    name = mailbox_of(address).partition("@")[0]
    return name in _PROGRAMS or name.endswith(_LIST_ENDINGS) or name.startswith(_LIST_BEGINNINGS)
