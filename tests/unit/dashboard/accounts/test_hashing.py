"""Hashes that anybody can cause: two at a time in a process, and a page for a third."""

import secrets
from contextlib import ExitStack

import pytest
from allauth.core.exceptions import ImmediateHttpResponse
from django.test import Client, RequestFactory
from pytest_django import Settings

from dashboard.accounts import hashing
from dashboard.accounts.hashing import place_to_hash
from keys.models import User


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr(hashing, "WAITS", 0.01)
    settings.ALLOWED_HOSTS = ["testserver"]
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "whitenoise" not in name]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.mark.django_db
def test_sign_up__while_two_hash__is_429_for_known_and_unknown_addresses_and_works_again() -> None:
    known, unknown = User.objects.create_user("known@example.com").email, f"{secrets.token_hex(6)}@example.com"
    values = {"password1": "a long and quiet password", "organization": "Acme"}
    with ExitStack() as places:
        for _ in range(2):
            places.enter_context(place_to_hash(RequestFactory().get("/")))
        for email in (known, unknown):
            answer = Client(REMOTE_ADDR="192.0.2.41").post("/account/signup/", {**values, "email": email})
            assert (answer.status_code, answer.headers["Retry-After"]) == (429, "5")
            assert "Nothing was saved. Go back, wait 5 seconds and send it again." in answer.content.decode()
    assert not User.objects.filter(email=unknown).exists()
    assert Client(REMOTE_ADDR="192.0.2.41").post("/account/signup/", {**values, "email": unknown}).status_code == 302


def test_places__a_hash_that_fails__gives_its_place_back() -> None:
    request = RequestFactory().get("/")
    for _ in range(3):
        with pytest.raises(ValueError, match="broken"), place_to_hash(request):
            raise ValueError("broken")
    with place_to_hash(request), place_to_hash(request), pytest.raises(ImmediateHttpResponse), place_to_hash(request):
        pass
