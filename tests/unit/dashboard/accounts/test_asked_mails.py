"""Mails that anybody can ask for: 20 a day to a mailbox. News about an account are always sent."""

import secrets

import pytest
from django.core.mail import EmailMessage

from dashboard.account_mail import queue_account_mail
from keys.models import User
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db
UNKNOWN = "account/email/unknown_account"


def queue(to: str, prefix: str = UNKNOWN, user: User | None = None, **context: str) -> None:
    queue_account_mail(EmailMessage("Subject", "Text"), prefix, to, {"user": user, **context})


def test_mails__asked_for_by_anybody__are_20_a_day_to_a_mailbox_in_every_spelling() -> None:
    name = secrets.token_hex(6)
    person = User.objects.create_user(f"{name}@example.com")
    for number in range(9):
        queue(f"{name}+{number}@example.com")
        queue(f"{name.upper()}@EXAMPLE.com", "account/email/password_reset_code", person, code="ABCD")
        queue(f'"{name}"@example.com', "account/email/email_confirmation", person, code="ABCD")
    assert Delivery.objects.count() == 20
    queue(person.email, "account/email/password_changed", person)
    queue(f"another.{name}@example.com")
    assert Delivery.objects.count() == 22
