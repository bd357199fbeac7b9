"""Mails over the hour of an organization or an account wait, lose nothing, and delay no other delivery."""

import datetime as dt
import uuid

import pytest
from django.db.models.functions import Now
from pytest_django import Settings

from config.base.times import now
from keys.models import Organization
from keys.notices import notify_owners
from keys.plans import Plan
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import claim_due, make_form, make_submission, make_webhook, owner_of
from webhooks.enqueue import enqueue_mail
from webhooks.events import ACCOUNT_CODE, ACCOUNT_MAIL
from webhooks.mails import allowance
from webhooks.models import Delivery
from webhooks.outbox.notices import dispatch_notices
from webhooks.payloads import RenderedMail

pytestmark = pytest.mark.django_db
MAIL = RenderedMail("s", "t")


@pytest.fixture(autouse=True)
def small(settings: Settings) -> None:
    settings.MAILS_PER_ORGANIZATION, settings.MAILS_PER_ACCOUNT = 3, 2


def mailed_form(mails: int, *, plan: Plan = Plan.FREE) -> Organization:
    form = make_form(notification_recipients=["ada@example.com"])
    Organization.objects.filter(pk=form.organization_id).update(plan=plan)
    for _ in range(mails):
        make_submission(form)
    dispatch_all()
    return form.organization


def claimed_of(organization: Organization) -> int:
    return sum(claim.delivery.organization_id == organization.pk for claim in claim_due(50))


def test_mails__over_the_hour__wait_without_using_an_attempt() -> None:
    organization = mailed_form(5)
    assert (claimed_of(organization), claimed_of(organization)) == (3, 0)
    waiting = Delivery.objects.filter(lease_token=None)
    assert list(waiting.values_list("status", "attempt_count")) == [("pending", 0)] * 2
    soonest = min(delivery.next_attempt_at for delivery in waiting if delivery.next_attempt_at)
    assert now() < soonest <= now() + dt.timedelta(hours=1, seconds=1)


def test_mails__next_hour__are_claimed(settings: Settings) -> None:
    organization = mailed_form(5)
    claim_due(50)
    settings.MAILS_PER_ORGANIZATION = 100  # a new hour; the counter's clock is not ours to move
    Delivery.objects.filter(lease_token=None).update(next_attempt_at=Now())
    assert claimed_of(organization) == 2


def test_mails__over_the_hour__stand_in_front_of_nobody() -> None:
    mailed_form(40)
    form = make_form()
    webhook = make_webhook(form)
    make_submission(form)
    dispatch_all()
    claims = claim_due(2) + claim_due(2) + claim_due(2)
    assert [claim.delivery.webhook_id for claim in claims].count(webhook.pk) == 1
    assert Delivery.objects.due().count() == 0


def test_mails__over_the_hour__all_wait_however_many_a_batch_takes(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowance, "ROWS_A_BATCH", 2)
    settings.MAILS_PER_ORGANIZATION = 0
    mailed_form(7)
    first = Delivery.objects.due().earliest("pk")
    assert allowance.split_by_allowance([first], uuid.uuid4()) == []
    assert Delivery.objects.due().count() == 0


def test_mails__paid_plan__has_ten_times_as_many() -> None:
    assert claimed_of(mailed_form(35, plan=Plan.PRO)) == 30


def test_mails__about_an_account__count_for_the_account() -> None:
    form = make_form()
    owner = owner_of(form)
    for number in range(3):
        enqueue_mail(ACCOUNT_CODE, MAIL, owner.email, account_id=owner.pk)
        notify_owners(form.organization, "kind", subject=str(number), text="t")
    dispatch_notices()
    assert len(claim_due(50)) == 2
    assert Delivery.objects.filter(lease_token=None, next_attempt_at__gt=Now()).count() == 4


def test_mails__to_an_address_without_an_account__count_for_the_address() -> None:
    for target in ("Eve@example.com", "eve@example.com", "eve@example.com", "bob@example.com"):
        enqueue_mail(ACCOUNT_MAIL, MAIL, target)
    assert sorted(claim.delivery.target.lower()[:3] for claim in claim_due(50)) == ["bob", "eve", "eve"]
