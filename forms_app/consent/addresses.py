"""Mail addresses that strangers typed: whether one is a single address, and which ones reach the same mailbox."""

import hashlib
import hmac
import re
import unicodedata

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.encoding import punycode

MAX_ADDRESS = 254  # characters as they are sent, the limit of an SMTP path (RFC 5321, 4.5.3.1.3)
# Of valid addresses: separators; quotes, in which mail programs may see two addresses; brackets of a host's number,
# which is a second address of the same mailbox.
_UNFIT_FOR_ADDRESS = re.compile(r'[\s\x00-\x1f\x7f-\x9f,;:<>()\[\]"\\]')
_QUOTED_PAIR = re.compile(r"\\(.)")
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
    if len(address) > MAX_ADDRESS or _UNFIT_FOR_ADDRESS.search(address) or _has_encoded_word(address):
        return False
    try:
        validate_email(address)
    except ValidationError:
        return False
    name, _, host = address.rpartition("@")
    # The validator ignores case, and so takes some letters beyond ASCII, such as the long s.
    return name.isascii() and len(f"{name}@{_host_as_sent(host)}") <= MAX_ADDRESS


def _has_encoded_word(address: str) -> bool:
    """
    Return whether the mail library decodes a part of an address (RFC 2047).

    `=?utf-8?q?=61da?=@example.com` would be mailed to ada@example.com.
    """
    return "?=" in address.partition("=?")[2]


def mailbox_of(address: str) -> str:
    """
    Return an address as caps and lists compare it: in one case and normal form, unquoted, without `+` and what follows.

    Its host is as mails are sent to it: full-width letters and soft hyphens would make hundreds of names of one host.
    """
    name, _, host = unicodedata.normalize("NFKC", address).casefold().rpartition("@")
    if name.startswith('"'):  # RFC 5321, 4.1.2: the same mailbox, written in another way
        name = _QUOTED_PAIR.sub(r"\1", name.strip('"'))
    return f"{name.partition('+')[0] or name}@{_host_as_sent(host)}"


def mailbox_digest(purpose: str, address: str) -> str:
    """Return what counts the mails to a mailbox: a hash that nobody without our key can try addresses against."""
    key = f"{purpose} {settings.SECRET_KEY}".encode()
    return hmac.new(key, mailbox_of(address).encode(), hashlib.sha256).hexdigest()


def _host_as_sent(host: str) -> str:
    """Return the ASCII name of a host (RFC 3490), as the mail library sends it; one without such a name unchanged."""
    try:
        return punycode(host).lower()
    except UnicodeError:
        return host


def is_of_a_program(address: str) -> bool:
    """Return whether a single address is that of a mail server, a mailing list's program or an unread mailbox."""
    name = mailbox_of(address).partition("@")[0]
    return name in _PROGRAMS or name.endswith(_LIST_ENDINGS) or name.startswith(_LIST_BEGINNINGS)
