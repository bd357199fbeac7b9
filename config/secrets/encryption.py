"""
Encryption of secrets that must be readable again: second steps, webhook and captcha secrets, mailed codes.

The keys live outside the database, in `ENCRYPTION_KEYS`, or are derived from `SECRET_KEY`. The first one encrypts, all
of them decrypt, so a key is rotated by putting a new one in front (`config/secrets/rotation.py`). Fernet: AES-128-CBC
with HMAC-SHA256 (https://github.com/fernet/spec).
"""

import base64
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import models

PREFIX = "enc1:"  # marks an encrypted value, unlike the plain one of an earlier release
_PURPOSE = b"fieldpost secrets at rest"


class CannotDecrypt(Exception):
    """None of the keys decrypts the value: a key is missing from `ENCRYPTION_KEYS`."""


def encrypt(text: str) -> str:
    """Return a text encrypted with the first key; "" stays empty."""
    return PREFIX + _fernet(*_keys()).encrypt(text.encode()).decode() if text else ""


def decrypt(stored: str) -> str:
    """Return the text of `encrypt`. A value without its prefix is returned unchanged. Raises CannotDecrypt."""
    if not stored.startswith(PREFIX):
        return stored
    try:
        return _fernet(*_keys()).decrypt(stored[len(PREFIX) :]).decode()
    except InvalidToken:
        raise CannotDecrypt("No key of ENCRYPTION_KEYS decrypts this value. Add the key that encrypted it.") from None


def is_current(stored: str) -> bool:
    """Return whether a stored value is empty or encrypted with the first key."""
    if not stored:
        return True
    try:
        return stored.startswith(PREFIX) and bool(_fernet(_keys()[0]).decrypt(stored[len(PREFIX) :]))
    except InvalidToken:
        return False


class EncryptedTextField(models.TextField):  # type: ignore[type-arg]  # has parameters only in its stubs
    """A text that is encrypted in its column. It cannot be searched: equal texts differ there."""

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return text if text is None else encrypt(text)

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        """Decrypt a column's value. Raises CannotDecrypt."""
        return None if value is None else decrypt(value)


class SealedTextField(EncryptedTextField):
    """
    The same, but read encrypted: `decrypt` its value where it is needed.

    For rows that are read by many: one whose key is missing must not stop the others.
    """

    def get_prep_value(self, value: Any) -> Any:
        return value if isinstance(value, str) and value.startswith(PREFIX) else super().get_prep_value(value)

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        """Return a column's value as it is stored."""
        return value


def _keys() -> tuple[str, ...]:
    # SECRET_KEY last: values that it encrypted stay readable when ENCRYPTION_KEYS is set later.
    return (*settings.ENCRYPTION_KEYS, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


@lru_cache(maxsize=4)
def _fernet(*keys: str) -> MultiFernet:
    return MultiFernet([Fernet(_derive(key)) for key in keys])


def _derive(key: str) -> bytes:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(key.encode())
    return base64.urlsafe_b64encode(derived)
