"""Mails with a code or a link: encrypted in their row, first in the queue, dropped when they end or are out of date."""

import datetime as dt
from typing import Any

import pytest
from pytest_django import Settings

from config.api.errors import Conflict
from config.base.times import now
from tests.unit.webhooks.rows import (
    REFUSED,
    claim_due,
    claim_one,
    make_deliveries,
    make_form,
    owner_of,
    result,
    send_one,
)
from webhooks.enqueue import enqueue_mail
from webhooks.events import ACCOUNT_CODE, ACCOUNT_MAIL, INVITATION
from webhooks.models import Delivery, ErrorClass, Message
from webhooks.outbox.record import record
from webhooks.payloads import RenderedMail
from webhooks.replays import retry_delivery
from webhooks.retention import drop_outdated_mails
from webhooks.transport.outcome import Outcome

pytestmark = pytest.mark.django_db
CODE = "7PDK-2MWX"
MAIL = RenderedMail("Your code", f"It is\n\n{CODE}\n")
BUSY = Outcome(succeeded=False, status=451, duration_ms=5, error=ErrorClass.MAIL_FAILED.value)
MINUTE = dt.timedelta(minutes=1)


def queue(*, expires_in: dt.timedelta | None = 15 * MINUTE) -> Delivery:
    expires_at = None if expires_in is None else now() + expires_in
    return enqueue_mail(
        ACCOUNT_CODE, MAIL, "ada@example.com", account_id=owner_of(make_form()).pk, expires_at=expires_at
    )


def state() -> tuple[str, str]:
    """Return the status of the one delivery, and the stored secret."""
    return Delivery.objects.get().status, Message.objects.get().secret


def test_code__queued__is_not_readable_in_its_row() -> None:
    queue()
    stored = Message.objects.values().get()
    assert stored["secret"].startswith("enc1:")
    assert not any(CODE in str(value) for row in (stored, Delivery.objects.values().get()) for value in row.values())


def test_code__sent__is_the_mail_as_it_was_rendered_and_is_dropped(mailoutbox: list[Any]) -> None:
    queue()
    record([send_one()])
    assert state() == ("delivered", "")
    assert (mailoutbox[0].subject, mailoutbox[0].body, mailoutbox[0].alternatives) == (MAIL.subject, MAIL.text, [])


def test_code__failed_permanently__is_dropped_and_cannot_be_sent_again() -> None:
    queue()
    record([result(claim_one(), REFUSED)])
    assert state() == ("failed", "")
    with pytest.raises(Conflict, match="Request or send a new one"):
        retry_delivery(Delivery.objects.get())


def test_code__mail_server_busy__is_kept_for_the_next_attempt() -> None:
    queue()
    record([result(claim_one(), BUSY)])
    status, secret = state()
    assert (status, secret != "") == ("pending", True)


def test_code__next_attempt_would_be_too_late__has_failed_and_is_dropped() -> None:
    queue(expires_in=dt.timedelta(seconds=3))
    record([result(claim_one(), BUSY)])
    assert state() == ("failed", "")


def test_code__out_of_date_when_claimed__is_canceled_and_not_sent(mailoutbox: list[Any]) -> None:
    queue(expires_in=-MINUTE)
    record([send_one()])
    assert (state(), mailoutbox) == (("canceled", ""), [])


def test_code__nobody_delivers__is_dropped_by_the_hourly_clean_up() -> None:
    queue(expires_in=-MINUTE)
    assert (drop_outdated_mails(), drop_outdated_mails()) == (1, 0)
    assert state() == ("canceled", "")


def test_code__key_is_missing__fails_without_stopping_the_loop(settings: Settings) -> None:
    queue()
    settings.ENCRYPTION_KEYS, settings.SECRET_KEY = ["another key, which encrypted nothing so far"], "x" * 50
    sent = send_one()
    assert sent.outcome.error == "internal_error"
    record([sent])
    assert state()[0] == "pending"


def test_claim__code_behind_older_deliveries__is_taken_first() -> None:
    make_deliveries(5)
    news = enqueue_mail(ACCOUNT_MAIL, MAIL, "ada@example.com")
    code = queue()
    assert [claim.delivery.pk for claim in claim_due(3)][:2] == [code.pk, news.pk]


def test_mail__to_an_address_without_an_account__needs_no_owner_and_others_do() -> None:
    assert enqueue_mail(ACCOUNT_MAIL, MAIL, "nobody@example.com").pk
    with pytest.raises(Exception, match="delivery_has_an_owner"):
        enqueue_mail(INVITATION, MAIL, "nobody@example.com")
