import secrets

import pytest
from allauth.account.adapter import get_adapter
from allauth.core import context
from django.http import HttpRequest
from django.test import RequestFactory

from dashboard.accounts.login_proof import needs_proof, note_failure
from keys.models import Notice, User

pytestmark = pytest.mark.django_db


def request_from(address: str) -> HttpRequest:
    return RequestFactory().post("/account/login/", REMOTE_ADDR=address)


def test_doubt__new_password_set_by_mail__ends_it() -> None:
    person = User.objects.create_user(f"{secrets.token_hex(6)}@example.com")
    for number in range(20):
        assert not needs_proof(request_from("192.0.2.1"), person.email)
        note_failure(request_from(f"198.51.100.{number}"), person.email.upper())
    assert needs_proof(request_from("192.0.2.1"), person.email)
    assert Notice.objects.filter(account=person).count() == 1
    request = request_from("192.0.2.1")
    with context.request_context(request):
        get_adapter()._delete_login_attempts_cached_email(request, email=person.email)
    assert not needs_proof(request, person.email)


def test_doubt__of_an_ipv6_network__is_of_all_its_addresses() -> None:
    for number in range(10):
        note_failure(request_from(f"2001:db8:7:7::{number}"), f"{secrets.token_hex(6)}@example.com")
    assert needs_proof(request_from("2001:db8:7:7:ffff::1"), "somebody@example.com")
    assert not needs_proof(request_from("2001:db8:7:8::1"), "somebody@example.com")
