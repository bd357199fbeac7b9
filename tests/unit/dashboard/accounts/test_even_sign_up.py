"""Sign-up works as long for a known address as for an unknown one: hashing the password is the part that takes long."""

import secrets
from typing import Any, ClassVar

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.test import Client
from pytest_django import Settings

from keys.models import User

pytestmark = pytest.mark.django_db


class CountingHasher(PBKDF2PasswordHasher):
    """Counts, and is quick."""

    hashed: ClassVar[list[str]] = []
    iterations = 1

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        self.hashed.append(password)
        return super().encode(password, salt, iterations)


def hashes_of_sign_up(email: str) -> int:
    CountingHasher.hashed.clear()
    values: dict[str, Any] = {"email": email, "password1": "a long and quiet password", "organization": "Acme"}
    answer = Client(REMOTE_ADDR="192.0.2.42").post("/account/signup/", values)
    assert answer.status_code == 302
    return len(CountingHasher.hashed)


def test_sign_up__known_and_unknown_address__hash_as_often(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    settings.ALLOWED_HOSTS = ["testserver"]
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "whitenoise" not in name]
    known = User.objects.create_user(f"{secrets.token_hex(6)}@example.com")
    assert hashes_of_sign_up(f"{secrets.token_hex(6)}@example.com") == hashes_of_sign_up(known.email) == 1
