"""Queries over the delivery log: undelivered submissions, its parts by form and channel, delivery health."""

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from config.base.times import now
from forms_app.actions import create_form
from keys.seen_forms import SeenForms
from submissions.models import Submission, Tally
from tests.support.deliveries import make_delivery
from tests.unit.webhooks.rows import make_form, make_submission, make_webhook, make_webhook_of_all_forms
from webhooks.log_queries import Health, by_channel, delivery_health, log_of, recent_results, undelivered_submissions
from webhooks.models import Attempt, Delivery, Receiver

pytestmark = pytest.mark.django_db


def delivery_of(submission: Submission, **values: Any) -> Delivery:
    to = values.pop("to", "ada@example.com")
    return make_delivery(to, submission=submission, **{"status": "failed", "finished_at": now(), **values})


def test_undelivered__are_failed_canceled_held_and_retried_ones() -> None:
    form = make_form()
    later = now() + dt.timedelta(hours=1)
    states: dict[str, dict[str, Any]] = {
        "failed": {},
        "canceled": {},
        "held": {"finished_at": None},
        "tried": {"status": "pending", "next_attempt_at": later, "attempt_count": 1, "finished_at": None},
        "new": {"status": "pending", "next_attempt_at": later, "attempt_count": 0, "finished_at": None},
        "delivered": {},
    }
    made = {}
    for name, values in states.items():
        made[name] = make_submission(form)
        delivery_of(made[name], **{"status": name, **values})
    make_delivery("owner@example.com", organization=form.organization, status="failed", event="webhook.disabled")
    spam = make_submission(form, spam=True)
    delivery_of(spam, status="canceled")
    found = set(undelivered_submissions(Submission.objects.filter(form=form)))
    assert {name for name, row in made.items() if row in found} == {"failed", "canceled", "held", "tried"}
    assert spam not in found


def test_by_channel__of_a_form__are_its_webhooks_and_its_mails() -> None:
    form = make_form()
    other = make_form()
    webhook, foreign = make_webhook(form), make_webhook(other)
    ours = delivery_of(make_submission(form), to=webhook)
    test_event = make_delivery(webhook, event="test", status="failed", finished_at=now())
    mail = delivery_of(make_submission(form))
    delivery_of(make_submission(other), to=foreign)
    delivery_of(make_submission(other))
    rows = Delivery.objects.all()
    to_webhooks, mails = by_channel(rows, [form.pk])
    assert set(to_webhooks) == {ours, test_event}
    assert set(mails) == {mail}
    for channel, of_form, of_all in (("webhook", {ours, test_event}, 3), ("mail", {mail}, 2), ("pager", set(), 0)):
        assert [set(part) for part in by_channel(rows, [form.pk], channel=channel)] == [of_form]
        assert [part.count() for part in by_channel(rows, None, channel=channel)] == [of_all]
    assert [part.count() for part in by_channel(rows, None)] == [5]


def test_by_channel__webhook_of_all_forms__is_in_the_log_of_each_form_with_its_submissions() -> None:
    form = make_form()
    other = create_form(organization=form.organization, name="Other")
    wide = make_webhook_of_all_forms(form)
    ours = delivery_of(make_submission(form), to=wide)
    theirs = delivery_of(make_submission(other), to=wide)
    make_delivery(wide, event="test", status="failed", finished_at=now())
    rows = Delivery.objects.all()
    for of_form, expected in ((form, ours), (other, theirs)):
        for channel, found in (("", [set(), {expected}]), ("webhook", [set(), {expected}]), ("mail", [set()])):
            assert [set(part) for part in by_channel(rows, [of_form.pk], channel=channel)] == found


def test_health__counts_the_last_day_and_what_needs_a_look(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    form, other = make_form(), make_form()
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    Tally.objects.create(form=form, hour=hour, delivered=5, failed=2)
    Tally.objects.create(form=form, hour=hour - dt.timedelta(days=2), delivered=100, failed=100)
    Tally.objects.create(form=other, hour=hour, delivered=50, failed=50)
    later = {"status": "pending", "next_attempt_at": now() + dt.timedelta(hours=1), "finished_at": None}
    delivery_of(make_submission(form), attempt_count=1, **later)
    delivery_of(make_submission(form), attempt_count=0, **later)
    make_webhook(form)
    make_webhook(form, status=Receiver.Status.PENDING)
    make_webhook_of_all_forms(form, status=Receiver.Status.DISABLED, disabled_reason="Disabled by hand.")
    make_webhook_of_all_forms(other, status=Receiver.Status.DISABLED, disabled_reason="Disabled by hand.")
    with django_assert_num_queries(3):
        health = delivery_health(SeenForms(form.organization_id))
    assert health == Health(delivered_24h=5, failed_24h=2, retrying=1, disabled_webhooks=1, pending_webhooks=1)


@pytest.mark.parametrize("order", [1, -1])
def test_results__of_attempts_that_began_together__show_the_later_one(order: int) -> None:
    form = make_form()
    webhook, moment = make_webhook(form), now()
    rows = [delivery_of(make_submission(form), to=webhook) for _ in range(2)]
    made = [Attempt.objects.create(delivery=row, started_at=moment, duration_ms=1) for row in rows[::order]]
    assert recent_results(log_of(webhook, test=False)).last == made[1]
