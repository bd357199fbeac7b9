"""
Tokens of access keys: create, check without a database, hash for storage (docs/contract.md 3).

`fp_`, `fp_pub_`, `fp_test_` or `fp_pub_test_`, 40 random base62 characters, and 6 for their CRC32, as in npm's tokens.
A typing error or a guess fails the checksum and costs no query.
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
PUBLISHABLE_MARK, TEST_MARK = "pub_", "test_"
_SHAPE = re.compile(
    rf"(?:{PUBLISHABLE_MARK})?(?:{TEST_MARK})?([0-9A-Za-z]{{{BODY_LENGTH}}})([0-9A-Za-z]{{{CHECKSUM_LENGTH}}})"
)


def checksum(body: str) -> str:
    """Return the CRC32 of an ASCII text, in 6 base62 characters."""
    number = zlib.crc32(body.encode("ascii"))
    digits = []
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def make_token(*, publishable: bool = False, test: bool = False) -> str:
    body = "".join(secrets.choice(ALPHABET) for _ in range(BODY_LENGTH))
    mark = (PUBLISHABLE_MARK if publishable else "") + (TEST_MARK if test else "")
    return f"{settings.ACCESS_KEY_PREFIX}_{mark}{body}{checksum(body)}"


def is_well_formed(token: str) -> bool:
    """Return whether a text has the format of a token and a correct checksum."""
    head, _, tail = token.partition("_")
    match = _SHAPE.fullmatch(tail) if head == settings.ACCESS_KEY_PREFIX else None
    return match is not None and checksum(match[1]) == match[2]


def digest(token: str) -> str:
    """
    Return the SHA-256 of a token, in hexadecimal: the only form in which a secret key or the token of a link is stored.

    Fast and unkeyed on purpose: 238 random bits need no stretching, and with SECRET_KEY as a key, its rotation would
    invalidate every access key.
    """
    return hashlib.sha256(token.encode()).hexdigest()


def hint(token: str) -> str:
    """Return the part of a token that can be shown: its prefix and last four characters."""
    head = token[: -(BODY_LENGTH + CHECKSUM_LENGTH)]
    return f"{head}…{token[-4:]}"
