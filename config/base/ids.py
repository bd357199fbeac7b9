"""
Public ids: TypeIDs, which are a prefix, `_` and a UUIDv7 in 26 characters of Crockford's base32.

Source: docs/contract.md 1; https://github.com/jetify-com/typeid/tree/main/spec
"""

import datetime as dt
import re
import uuid

from django.utils.translation import gettext
from uuid_utils.compat import uuid4, uuid7

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
SUFFIX_LENGTH = 26
_VALUES = {character: value for value, character in enumerate(ALPHABET)}
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]  # of 10 bits
_THIRTY = (1 << 30) - 1  # as many bits as Python calculates with quickly
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Prefix:
    """The prefix of each kind of object with a public id."""

    ORGANIZATION = "org"
    FORM = "frm"
    SUBMISSION = "sub"
    ACCESS_KEY = "key"
    WEBHOOK = "whk"
    DELIVERY = "dlv"
    DESTINATION = "dst"
    FILE = "upl"
    IMPORT = "imp"


class InvalidId(ValueError):
    """The text is not an id of the expected kind. The message describes the format."""


def new_id() -> uuid.UUID:
    """Return a new UUIDv7: ordered by time, monotonic within a process."""
    return uuid7()


def new_id_at(moment: dt.datetime) -> uuid.UUID:
    """Return a new UUIDv7 of another time than now, from 1970 on; two of one millisecond are in no order."""
    return uuid7(nanoseconds=(moment - _EPOCH) // dt.timedelta(milliseconds=1) * 1_000_000)


def made_at(value: uuid.UUID) -> dt.datetime:
    """Return the creation time of a UUIDv7, from its first 48 bits: UTC, whole milliseconds (RFC 9562, 5.7)."""
    milliseconds = value.int >> 80
    seconds, rest = divmod(milliseconds, 1000)
    return dt.datetime.fromtimestamp(seconds, dt.UTC).replace(microsecond=rest * 1000)


def first_id_of(moment: dt.datetime) -> uuid.UUID:
    """Return the smallest UUIDv7 of a millisecond, to filter by creation time with the index of the ids."""
    return uuid.UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)


def suffix(value: uuid.UUID) -> str:
    """Return the 26 characters of an id without its prefix."""
    number, pairs = value.int, _PAIRS
    parts = (number >> 100, number >> 70 & _THIRTY, number >> 40 & _THIRTY, number >> 10 & _THIRTY)
    letters = [f"{pairs[part >> 20]}{pairs[part >> 10 & 1023]}{pairs[part & 1023]}" for part in parts]
    return "".join(letters) + pairs[number & 1023]


def encode_id(prefix: str, value: uuid.UUID) -> str:
    """Return the public id of a stored UUID, such as `frm_01jd…`."""
    return f"{prefix}_{suffix(value)}"


def decode_id(prefix: str, text: object) -> uuid.UUID:
    """
    Return the UUID behind a public id.

    Raises InvalidId for another prefix, length or alphabet, and for more than 128 bits.
    """
    head, _, tail = text.partition("_") if isinstance(text, str) else ("", "", "")
    known = head == prefix and len(tail) == SUFFIX_LENGTH and tail[0] <= "7" and all(c in _VALUES for c in tail)
    if not known:
        text = gettext("Expected an id that begins with %(prefix)s_ and has %(length)s characters after it.")
        raise InvalidId(text % {"prefix": prefix, "length": SUFFIX_LENGTH})
    number = 0
    for character in tail:
        number = number << 5 | _VALUES[character]
    return uuid.UUID(int=number)


def request_id_for(given: str) -> str:
    """Return the caller's own id of a request if its characters are safe, else a new one."""
    return given if _REQUEST_ID.fullmatch(given) else uuid4().hex
