"""
The text of access keys: made, checked without a database, hashed for storage.

`fp_` or `fp_pub_`, 40 random base62 characters, and 6 that hold the CRC32 of those 40, as npm's tokens do. A typing
error or a stranger's guess fails the checksum and costs no query. Source: CONTRACT section 3.
"""

import hashlib
import re
import secrets
import string
import zlib

from django.conf import settings

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
BODY_LENGTH = 40  # 40 base62 characters are 238 bits
CHECKSUM_LENGTH = 6
PUBLISHABLE_MARK = "pub_"
_SHAPE = re.compile(rf"(?:{PUBLISHABLE_MARK})?([0-9A-Za-z]{{{BODY_LENGTH}}})([0-9A-Za-z]{{{CHECKSUM_LENGTH}}})")


def checksum(body: str) -> str:
    """Return the CRC32 of an ASCII text in 6 base62 characters."""
    number = zlib.crc32(body.encode("ascii"))
    digits = []
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def make_token(*, publishable: bool = False) -> str:
    """Return a new access key."""
    body = "".join(secrets.choice(ALPHABET) for _ in range(BODY_LENGTH))
    mark = PUBLISHABLE_MARK if publishable else ""
    return f"{settings.ACCESS_KEY_PREFIX}_{mark}{body}{checksum(body)}"


def is_well_formed(token: str) -> bool:
    """Tell whether a text has the shape of an access key and its checksum is right."""
    head, _, tail = token.partition("_")
    match = _SHAPE.fullmatch(tail) if head == settings.ACCESS_KEY_PREFIX else None
    return match is not None and checksum(match[1]) == match[2]


def digest(token: str) -> str:
    """
    Return the SHA-256 of a key in hexadecimal: all that is stored of a secret one.

    Plain and fast on purpose: 238 random bits need no stretching, and keying it with SECRET_KEY would end every
    customer's keys when that is rotated.
    """
    return hashlib.sha256(token.encode()).hexdigest()


def hint(token: str) -> str:
    """Return what may be shown of a key: its prefix and last four characters."""
    head = token[: -(BODY_LENGTH + CHECKSUM_LENGTH)]
    return f"{head}…{token[-4:]}"
